/** PROCESS_SURVIVED: a process that nobody may end is told, never assumed gone. */

import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TOOL, World } from './world.ts';

const PERL = '/usr/bin/perl';
/** Becomes root for good, leaves the session, says so, and waits. */
const STAY =
  '$< = 0; $> = 0; $< = 0; POSIX::setsid(); open(my $f, q{>}, q{@D@/survivor}); print $f $$; close $f; sleep 300;';

test.skipIf(process.platform !== 'linux' || process.getuid?.() !== 0 || !existsSync(PERL))(
  'a worker that left a process of another user behind',
  async () => {
    const world = new World();
    world.configure({
      one: {
        script: `cat >/dev/null; echo more >> src/a.txt
@D@/suid-perl -MPOSIX -e '${STAY}' @MARK@ &
while [ ! -s @D@/survivor ]; do :; done`,
      },
    });
    const path = world.pathWithout('bwrap', 'unshare');
    const tool = join(world.folder, 'tool.mjs');
    copyFileSync(TOOL, tool);
    const packet = world.packet();
    execFileSync('chown', ['-R', '65534:65534', world.folder]);
    const suid = join(world.folder, 'suid-perl');
    copyFileSync(PERL, suid);
    chmodSync(suid, 0o4755);
    const args = ['run', '--role', 'repair', '--unit', packet, '--json', '--state-dir', join(world.folder, 'state')];
    let answer = '';
    try {
      execFileSync('setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, tool, ...args], {
        cwd: world.repo,
        env: { PATH: path, HOME: world.home },
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    } catch (error) {
      answer = (error as { stdout: string }).stdout;
    } finally {
      process.kill(Number(readFileSync(join(world.folder, 'survivor'), 'utf8')), 'SIGKILL');
    }
    const summary = JSON.parse(answer);
    expect(summary).toMatchObject({ outcome: 'blocked', exit_code: 6 });
    expect(summary.attempts).toEqual([{ attempt_id: '01-one', state: 'failed-unknown', code: 'PROCESS_SURVIVED' }]);
    expect(summary.retained).toHaveLength(1);
  },
);
