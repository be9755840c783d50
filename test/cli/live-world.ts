/** `probe --live` in the tests' own process, and scripted workers that stand in for the CLIs it asks. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { probeCommand } from '../../src/cli/probe.ts';
import { liveReport } from '../../src/model/probe.ts';
import type { Profile, World } from '../run/world.ts';
import { collecting, type Said } from './collected.ts';

const CAPTURED = new URL('../adapters/captured/', import.meta.url).pathname;
/** A worker that does what the prompt on its stdin says. */
export const OBEY = `eval "$(grep '^printf ')"`;
const CLAUDE_HELP = '--print --dangerously-skip-permissions --output-format --model --verbose --no-session-persistence';

/** A stand-in for claude: the right answers to a probe, then a captured stream of the real one. */
export const claude = (stream: string, work = 'cat >/dev/null', lines: readonly string[] = []): Profile => ({
  adapter: 'claude',
  script: `case "$1" in
--version) echo '2.1.332 (Claude Code)' ;;
--help) echo '${CLAUDE_HELP}' ;;
*) ${work}; cat ${CAPTURED}${stream}.jsonl ;;
esac`,
  lines,
});

interface Outside {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly onNote?: (text: string) => void;
}

export async function live(world: World, args: readonly string[] = [], outside: Outside = {}): Promise<Said> {
  const { settled, said } = start(world, args, outside);
  await settled;
  return said;
}

/** As `live`, where a bug may end it: what was said until then is in `said`. */
export function start(world: World, args: readonly string[], { env = {}, cwd = world.repo, onNote }: Outside) {
  const tmp = join(world.folder, 'tmp');
  mkdirSync(tmp, { recursive: true });
  const { io, said } = collecting({
    cwd,
    env: { PATH: process.env.PATH, HOME: world.home, TMPDIR: tmp, AGENT_EXEC_STATE_DIR: world.state, ...env },
    ...(onNote === undefined ? {} : { onNote }),
  });
  const settled = probeCommand(io)
    .exitOverride()
    .parseAsync(['--live', ...args], { from: 'user' });
  return { settled, said };
}

export interface Answered {
  readonly profile: string;
  readonly result: string;
  readonly code: string | null;
  readonly message: string | null;
  readonly more: readonly { readonly code: string }[];
  readonly receipt: string | null;
  readonly kept: readonly string[];
}
/** Every answer is as its schema says. */
export const profilesOf = ({ out }: Said): readonly Answered[] => liveReport.parse(JSON.parse(out)).profiles;
