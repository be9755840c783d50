/**
 * What git complained of, on one line for records and people. Git says where it stood before it says why: a full disk
 * looks like a broken ref or checkout, and fast-import adds a crash report of many lines. The reason comes first.
 */

/** Words of the system by which the disk, and not what git was doing, is to blame. */
const DISK: readonly (readonly [RegExp, string])[] = [
  [/No space left on device/, 'no space left on the disk'],
  [/Disk quota exceeded/, 'no space left in the disk quota'],
  [/Read-only file system/, 'the disk is read-only'],
  [/File too large/, 'a file would be larger than its limit (ulimit -f)'],
  [/Input\/output error/, 'the disk cannot be read or written'],
];
/** How git begins what went wrong. */
const WRONG = /^(?:fatal|error): /;
const LONGEST = 1000;

/** `doing`: what git was asked, put between reason and complaint. `otherwise`: for a git that ended without a word. */
export function complaint(stderr: string, otherwise: string, doing = ''): string {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const [blamed, reason] = DISK.map(
    ([words, meaning]) => [lines.find((line) => words.test(line)), meaning] as const,
  ).find(([line]) => line !== undefined) ?? [undefined, ''];
  const said = blamed ?? lines.find((line) => WRONG.test(line)) ?? lines[0] ?? otherwise;
  return `${reason === '' ? '' : `${reason}: `}${doing}${said.slice(0, LONGEST)}`;
}
