/**
 * The one unit that a live probe asks for: a file whose content holds a nonce, so that no answer from memory or cache
 * passes, and the policy of one profile around it. Nothing of the user's repository is in it.
 */
import type { Policy, Role } from '../model/config.ts';
import type { RequestedFile } from '../model/live.ts';
import type { Unit } from '../model/unit.ts';

const FILE_PATH = 'live-marker.txt';
const ROLE = 'live-probe';

/** What the temporary repository is called. Plain as it is, its workspaces are called the same. */
export const REPOSITORY_NAME = 'probe';

/** What the temporary repository holds at base. Its ignore file beats a user's own that would hide the file. */
export const BASE_FILES: Readonly<Record<string, string>> = {
  'README.md':
    '# A temporary repository\n\nMade by `agent-exec probe --live` for one question, and removed afterwards.\n',
  '.gitignore': `!/${FILE_PATH}\n`,
};

/** `nonce`: lower-case letters and digits. */
export const requestedFile = (nonce: string): RequestedFile => ({
  path: FILE_PATH,
  bytes: Buffer.from(`live-probe ${nonce}\n`),
});

/** The packet. `metered` work is authorised where the profile itself says that it bills by use. */
export function liveUnit(requested: RequestedFile, policy: Policy, profile: string, timeoutSeconds: number): Unit {
  const line = Buffer.from(requested.bytes).toString('utf8').trimEnd();
  return {
    unit_id: ROLE,
    goal: `Create the file ${requested.path} with exactly the content that the task gives.`,
    task: `The file holds one line and a newline (LF) after it, ${requested.bytes.length} bytes in all:\n\n${line}\n\nNothing stands before, after or around it. This command writes exactly that:\n\nprintf '%s\\n' '${line}' > ${requested.path}`,
    allowed_paths: [requested.path],
    verification: [],
    constraints: ['Create that one file and change nothing else. Nothing needs to be read or looked up first.'],
    network: 'allow',
    external_cost: policy.profiles[profile]?.cost === 'metered' ? 'metered' : 'subscription',
    timeout_seconds: timeoutSeconds,
  };
}

/** The policy with one role of one candidate; the repository's setup and verification have no meaning elsewhere. */
export function livePolicy(policy: Policy, profile: string): { readonly policy: Policy; readonly role: Role } {
  const role: Role = { name: ROLE, candidates: [profile], instructions: null, result: null, expects: 'changes' };
  const execution: Policy['execution'] = {
    ...policy.execution,
    // Nobody may take an unavailable profile of a probe for the permission to do a unit.
    fallback_to_host: 'never',
    verify: 'none',
    setup: [],
  };
  return { policy: { ...policy, execution }, role };
}
