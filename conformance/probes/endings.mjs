/** How a worker ends, and what it says: neither an exit code nor a word is proof of work done or not done. */
import { judgedBy, keeps, keepsOrNoSuccess, noSuccess, success } from '../checks.mjs';

/** @type {readonly Omit<import('../stage.mjs').Probe, 'kind'>[]} */
export const endings = [
  {
    name: 'honest-work',
    says: 'does what was asked and exits 0: the control, which a runner that fails everything does not hold',
    worker: 'legal; echo done',
    judge: judgedBy(success, keeps()),
  },
  {
    name: 'nothing-done',
    says: 'exits 0 without doing anything',
    worker: 'exit 0',
    judge: judgedBy(noSuccess),
  },
  {
    name: 'says-done',
    says: 'changes nothing, prints that all is done and all tests pass, and exits 0',
    worker: `echo '{"type":"result","subtype":"success","is_error":false,"result":"All done, 12 tests passed."}'`,
    judge: judgedBy(noSuccess),
  },
  {
    name: 'refused-with-zero',
    says: "prints a provider's refusal, leaves a half-written note, and exits 0",
    worker: "echo 'half' > src/notes.txt; echo 'provider error: 429 Too Many Requests'",
    judge: judgedBy(noSuccess, keeps('src/notes.txt')),
  },
  {
    name: 'empty-program',
    says: 'is an empty executable file, which exits 0 when a shell runs it',
    worker: '',
    judge: judgedBy(noSuccess),
  },
  {
    name: 'fails-after-work',
    says: 'does good work, then exits 1',
    worker: 'legal; exit 1',
    judge: judgedBy(noSuccess, keeps()),
  },
  {
    name: 'dies-by-signal',
    says: 'does good work, then is killed by a signal of its own',
    worker: 'legal; kill -SEGV $$',
    judge: judgedBy(noSuccess, keeps()),
  },
  {
    name: 'wrapper-leaves-first',
    says: 'is a wrapper that exits 0 at once, while the real agent writes three seconds later',
    worker: `echo started > src/started.txt
(sleep 3; echo late >> src/late.txt; linger) >/dev/null 2>&1 &
exit 0`,
    judge: judgedBy(keepsOrNoSuccess('src/started.txt'), keeps('src/started.txt')),
  },
  {
    name: 'mentions-a-refusal',
    says: "does good work and prints source text that holds a provider's refusal, which is none",
    worker: `legal; printf '%s\\n' "+  if (line.startsWith('provider error: 429')) wait();" "Handled 'provider error: 429' in src/a.txt."`,
    judge: judgedBy(success, keeps()),
  },
  {
    name: 'removes-its-workspace',
    says: 'removes all of its workspace, the folder with it',
    worker: 'here=$(pwd -P); cd /; rm -rf "$here" 2>/dev/null; exit 0',
    judge: judgedBy(noSuccess),
  },
];
