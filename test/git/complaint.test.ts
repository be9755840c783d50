import { expect, test } from 'vitest';
import { complaint } from '../../src/git/complaint.ts';
import { GitError } from '../../src/git/run.ts';

const CRASH = `fatal: Unable to write the packfile: No space left on device
fast-import: dumping crash report to fast_import_crash_4711
fast-import crash report:
    fast-import process: 4711
    at 2026-01-01 00:00:00 +0000

fatal: Unable to write the packfile

Most Recent Commands Before Crash
---------------------------------
`;

test.each([
  ['a full disk, however git came to it', CRASH, /^no space left on the disk: fatal: Unable to write the packfile: No/],
  [
    'a ref that cannot be locked for want of room',
    "error: cannot lock ref 'refs/x': Unable to create '/r/x.lock': No space left on device\n",
    /^no space left on the disk: error: cannot lock ref 'refs\/x'/,
  ],
  [
    'a quota',
    'error: unable to write file a: Disk quota exceeded\nfatal: checkout\n',
    /^no space left in the disk quota: /,
  ],
  ['the reason and not the hint', 'hint: one\nerror: no such ref\nfatal: gone\n', /^error: no such ref$/],
  [
    'a crash for another reason',
    CRASH.replace(': No space left on device', ''),
    /^fatal: Unable to write the packfile$/,
  ],
  [
    'the reason, where it stands behind what came of it',
    'error: cannot update the ref\nunable to write a: No space left on device\n',
    /^no space left on the disk: unable to write a: /,
  ],
  ['a git that is silent', '\n', /^nothing said$/],
])('%s', (_, stderr, expected) => {
  const said = complaint(stderr, 'nothing said');
  expect(said).toMatch(expected);
  expect(said).not.toContain('\n');
});

test('an error tells the full disk before the command', () => {
  const output = { code: 128, stdout: Buffer.alloc(0), stderr: CRASH, failure: null };
  expect(new GitError(['fast-import', '--quiet'], output).message).toMatch(
    /^no space left on the disk: git fast-import --quiet failed \(128\): fatal: /,
  );
});
