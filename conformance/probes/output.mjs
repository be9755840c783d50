/** What a worker prints: too much, too long, broken, or meant for the terminal of whoever reads it. */
import { answerIsBounded, judgedBy, keeps, nothingObeyed } from '../checks.mjs';

/** @type {readonly Omit<import('../stage.mjs').Probe, 'kind'>[]} */
export const output = [
  {
    name: 'flood',
    says: 'prints 200 MB without a line end',
    worker: 'legal; head -c 200000000 /dev/zero | tr "\\0" x',
    judge: judgedBy(keeps(), answerIsBounded),
  },
  {
    name: 'flood-of-both',
    says: 'prints 40 MB of short lines on stdout and stderr at once',
    worker: 'legal; (yes out | head -c 20000000) & (yes err | head -c 20000000) >&2; wait',
    judge: judgedBy(keeps(), answerIsBounded),
  },
  {
    name: 'terminal-control',
    says: 'prints escape sequences that set titles, move the cursor and write to the clipboard, and C1 controls',
    worker: `legal
printf '\\033]0;title\\007\\033[2J\\033[1;1Hall tests pass\\033]52;c;ZXZpbA==\\007 \\302\\233 31m \\302\\235 \\233 end\\n'
printf '\\033]0;title\\007provider error: \\033[2J429\\r\\n' >&2; exit 1`,
    judge: judgedBy(keeps(), nothingObeyed),
  },
  {
    name: 'invisible-characters',
    says: 'prints bidirectional and zero-width characters that make text read otherwise than it is',
    worker: `legal; printf 'safe \\342\\200\\256 txet desrever \\342\\201\\246 \\342\\200\\213 zero \\357\\273\\277 width\\n'`,
    judge: judgedBy(keeps(), nothingObeyed),
  },
  {
    name: 'names-for-the-terminal',
    says: 'makes out-of-scope files whose names hold escape sequences and bidirectional characters',
    worker: `legal; perl -e 'for my $n ("\\e]0;title\\a", "\\xe2\\x80\\xaegpj.exe", "\\xc2\\x9b31m") { open my $f, ">", $n; print $f "x" }'`,
    judge: judgedBy(keeps(), nothingObeyed),
  },
  {
    name: 'broken-text',
    says: 'prints bytes that are no UTF-8, NUL bytes and a character cut in the middle',
    worker: `legal; printf 'broken \\377\\376 \\000 \\303'; sleep 0.2; printf '\\251 and \\342\\202'`,
    judge: judgedBy(keeps(), nothingObeyed, answerIsBounded),
  },
  {
    name: 'long-answer',
    says: 'ends with a message of 1 MB and changes 500 files with long names, against a bounded answer',
    worker: `legal; perl -e 'my $n = "n" x 200; for (1 .. 500) { open my $f, ">", "src/$n-$_"; print $f "x" }
print "\\"\\\\\\x{e9}\\t" x 250000, "\\n"'`,
    judge: judgedBy(keeps(), answerIsBounded),
  },
];
