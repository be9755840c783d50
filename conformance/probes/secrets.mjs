/** A worker prints the credential that it was given, in every form; people must never get to read it. */
import { judgedBy, keeps, logsArePrivate } from '../checks.mjs';
import { HAD_KEY } from '../world.mjs';

/** Prints what a program makes of the credential, on both streams, last as the worker's final words. */
const printing = (program) => `legal
"$NODE" - <<'PROGRAM'
const key = process.env.CONFORMANCE_KEY ?? '';
const say = (text) => {
  console.error(text);
  console.log(text);
};
(${program})(key, say);
PROGRAM`;

/** A runner that gives no credential to its worker holds every probe here, and the table says so. */
const unread =
  (...checks) =>
  (world, answer) => {
    const judged = judgedBy(keeps(), ...checks)(world, answer);
    const given = answer.findWork('src/a.txt').some(({ read }) => read().includes(HAD_KEY));
    return given ? judged : { ...judged, happened: `${judged.happened}; the worker was given no credential` };
  };

/** @type {readonly Omit<import('../stage.mjs').Probe, 'kind'>[]} */
export const secrets = [
  {
    name: 'secret-plain',
    says: 'prints the credential as it is',
    worker: printing((key, say) => say(key)),
    judge: unread(),
  },
  {
    name: 'secret-in-refusal',
    says: "prints the credential in a provider's refusal and exits 1",
    worker: printing((key, say) => {
      say(`provider error: 401 key ${key} is not valid`);
      process.exitCode = 1;
    }),
    judge: unread(),
  },
  {
    name: 'secret-base64',
    says: 'prints the credential in base64, at all three alignments',
    worker: printing((key, say) => {
      for (const beside of ['', 'x', 'xy']) say(Buffer.from(`${beside}${key}${beside}`).toString('base64'));
    }),
    judge: unread(),
  },
  {
    name: 'secret-base64url',
    says: 'prints the credential in base64url, wrapped in JSON that is in base64 again',
    worker: printing((key, say) => {
      say(Buffer.from(key).toString('base64url'));
      say(Buffer.from(JSON.stringify({ key })).toString('base64'));
    }),
    judge: unread(),
  },
  {
    name: 'secret-hex',
    says: 'prints the credential in hex, in both cases',
    worker: printing((key, say) => {
      say(Buffer.from(key).toString('hex'));
      say(Buffer.from(key).toString('hex').toUpperCase());
    }),
    judge: unread(),
  },
  {
    name: 'secret-url',
    says: 'prints the credential URL-encoded, in part and byte by byte, and as the password of a URL',
    worker: printing((key, say) => {
      say(`https://user:${encodeURIComponent(key)}@example.invalid/`);
      say([...Buffer.from(key)].map((byte) => `%${byte.toString(16)}`).join(''));
    }),
    judge: unread(),
  },
  {
    name: 'secret-json',
    says: 'prints the credential JSON-escaped, twice and with escapes for every character',
    worker: printing((key, say) => {
      say(JSON.stringify(JSON.stringify({ key })));
      say([...key].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''));
    }),
    judge: unread(),
  },
  {
    name: 'secret-in-pieces',
    says: 'prints the credential byte by byte, each in a write of its own',
    worker: `legal; perl -e '$| = 1; for (split //, $ENV{CONFORMANCE_KEY}) { print; select undef, undef, undef, 0.01 } print "\\n"'`,
    judge: unread(),
  },
  {
    name: 'secret-in-name',
    says: 'makes files, one of them out of scope, whose paths hold the credential',
    worker: `legal
perl -MFile::Basename -MFile::Path=make_path -e '
  for ("src/$ENV{CONFORMANCE_KEY}", "$ENV{CONFORMANCE_KEY}.txt") { make_path(dirname($_)); open my $f, ">", $_ or die $!; print $f "x" }'`,
    judge: unread(),
  },
  {
    name: 'secret-by-shape',
    says: "prints a token that nobody passed, known by its shape, and a private key's block",
    worker: `legal; echo "found $SHAPED in a file"; printf -- '-----BEGIN PRIVATE KEY-----\\n%s\\n-----END PRIVATE KEY-----\\n' "$CONFORMANCE_KEY"`,
    judge: unread(),
  },
  {
    name: 'secret-at-the-cap',
    says: 'prints megabytes with the credential across every border of a buffer',
    worker: printing((key, say) => {
      for (let n = 0; n < 4000; n++) process.stdout.write('x'.repeat(1000 + (n % 7)) + key);
      say(key);
    }),
    judge: unread(),
  },
  {
    name: 'secret-under-open-umask',
    says: "prints the credential while the runner's umask gives everybody every right",
    umask: '0',
    worker: printing((key, say) => say(key)),
    judge: unread(logsArePrivate),
  },
];
