/** What a person can do about each way in which an attempt can end. One total table: a new code does not compile without. */
import type { AttemptCode } from '../model/codes.ts';

const LOOK = 'look at what it did before you use any of it';
const AGAIN = 'run again, or let another candidate try';

/** Null where there is nothing to do about it. */
export const ADVICE: Record<AttemptCode, string | null> = {
  OK: null,
  CANCELLED: 'run again when you like',

  CANONICAL_CHANGED:
    'look at the differences above: if they are yours, nothing is wrong; work under isolation guard and they do not matter',
  PROCESS_SURVIVED: 'a process of the worker may still be at work: find it and end it',
  INVENTORY_FAILED: 'look into the workspace that was kept: something in it could not be read or represented',
  CLEANUP_INEXACT: 'look into the workspace that was kept: it could not be made, saved or removed as it should',
  CONTROLLER_LOST: 'agent-exec was killed or the machine went down: what the worker had done is kept, unfinished',

  PATH_OUT_OF_SCOPE: 'if it had to touch those paths, add them to allowed_paths (--allow) and run again',
  WORKER_COMMITTED: `the worker made commits of its own, which it was told not to: ${LOOK}`,
  GIT_TAMPERED: `the worker changed git's own configuration or wiring: ${LOOK}`,
  NESTED_REPOSITORY: `the worker made a repository inside the repository: ${LOOK}`,
  SYMLINK_ESCAPE: `the worker made a link that leads out of the repository: ${LOOK}`,
  SPECIAL_FILE: `the worker left a file that no commit can carry (a socket, a pipe, setuid): ${LOOK}`,
  SECRET_FILE: `the worker made a file that looks like a secret: ${LOOK}`,

  EXECUTABLE_MISSING: 'install the CLI or name it in the profile; agent-exec probe tells what can run here',
  EXECUTABLE_INVALID: 'the program cannot be run or is another product; agent-exec probe tells more',
  INCOMPATIBLE: 'update the CLI; agent-exec probe tells what is missing',
  DISABLED: 'the profile is switched off: enabled: true in AGENT-EXECUTION.md brings it back',
  SPAWN_FAILED: 'the program could not be started; agent-exec probe tells more',
  PROMPT_TOO_LARGE: 'make the goal and context of the unit shorter',
  UNRESOLVED_MODEL_SLUG: "name a model that the CLI knows, in the profile's model",
  COST_NOT_AUTHORISED: 'allow the cost in the packet (external_cost), or use another profile',
  NETWORK_NOT_ENFORCEABLE: 'network: deny needs isolation strict, and bwrap',
  ISOLATION_UNAVAILABLE: 'install bwrap, or ask for less isolation',
  NO_CREDENTIALS: 'log in with the CLI, or set its API key where the packet allows metered cost',
  PROVIDER_COOLDOWN: 'wait for a while, then run again',
  RECURSION_DETECTED: 'a worker must not start agent-exec on its own repository',
  AUTH_REQUIRED: 'log in with the CLI, then run again',
  AUTH_REJECTED: 'the provider does not take these credentials: log in with the CLI again',
  RATE_LIMITED: 'wait for a while, then run again',
  QUOTA_EXHAUSTED: 'the account has nothing left: wait for the next period or use another candidate',
  OVERLOADED: 'the provider is busy: wait for a while, then run again',
  PROVIDER_ERROR: `the provider failed: ${AGAIN}`,
  PROVIDER_UNREACHABLE: 'look at your network and proxy, then run again',
  MODEL_UNAVAILABLE: 'name another model in the profile',

  EXIT_NONZERO: 'the logs tell what the CLI complained about',
  SIGNALED: 'something ended the CLI from outside: memory, a person, itself',
  TIMEOUT: 'give it more time (timeout_seconds) or a smaller unit',
  IDLE_TIMEOUT: 'it said nothing for too long: idle_timeout_seconds, or a smaller unit',
  REPORTED_ERROR: 'the logs tell what the CLI complained about',
  PROVIDER_REFUSED_MIDWAY: 'the provider refused in the middle of the work, which is kept: wait, then run again',
  EMPTY_DIFF: 'it ended well and changed nothing: say more exactly what is to be done',
  NO_RESULT: 'it gave no result where the role wants one: the logs have its last words',
  UNPARSEABLE_OUTPUT: "its output could not be read: is output_format right, and the CLI's version?",
  INVALID_WORKER_RESULT: 'its result lacks what the role wants: the logs have it',
  WORKER_BLOCKED: 'the worker says that it cannot go on: answer what it says above, then run again',
  MODEL_MISMATCH: 'another model than the one asked for answered: look at the profile and the account',
  SETUP_FAILED: 'a command of execution.setup failed: try it in a fresh checkout; its log is kept',
  VERIFICATION_FAILED: 'the change is kept, and a verification command fails on it: its log tells why',
};
