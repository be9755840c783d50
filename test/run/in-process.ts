/** A run in this process, for circumstances that no worker can make: `progress` is called in the midst of it. */
import { join } from 'node:path';
import type { Result } from '../../src/model/result.ts';
import { createRedactor } from '../../src/receipt/redact.ts';
import { prepareRun } from '../../src/run/prepare.ts';
import type { Progress } from '../../src/run/progress.ts';
import type { Recorded } from '../../src/run/records.ts';
import { type RunUnitProblem, runUnit } from '../../src/run/run.ts';
import { newRunId } from '../../src/store/run-directory.ts';
import { openStateRoot } from '../../src/store/state-root.ts';
import type { World } from './world.ts';

interface InProcess {
  readonly runId: string;
  /** Settles as `runUnit` does. */
  readonly running: Promise<Result<Recorded, RunUnitProblem>>;
}

/** Starts the role `repair` of the world's repository. */
export async function runInProcess(
  world: World,
  progress: Progress,
  options: {
    readonly stateRoot?: string;
    readonly secrets?: readonly string[];
    readonly runId?: string;
    readonly now?: () => Date;
  } = {},
): Promise<InProcess> {
  const env = { PATH: process.env.PATH, HOME: world.home };
  const uid = process.getuid?.() ?? 0;
  const now = options.now ?? (() => new Date());
  const runId = options.runId ?? newRunId(now());
  const unit = { kind: 'inline', flags: { goal: 'g', allow: ['src/'] } } as const;
  const request = { repoPath: world.repo, role: 'repair', unit, base: null, verify: false, runId };
  const prepared = await prepareRun(request, env);
  const override = options.stateRoot ?? world.state;
  const root = await openStateRoot({ override, cwd: '/', uid, repositoryFolders: [] });
  if (!prepared.ok || !root.ok) throw new Error('the world is not as it should be');
  const stop = new AbortController().signal;
  const running = runUnit({
    ...prepared.value,
    around: { hostEnv: env, platform: process.platform, uid, toolVersion: '0', now, stop, progress },
    stateRoot: root.value,
    telemetryPath: join(world.folder, 'calls.jsonl'),
    extraReceiptPath: null,
    redactor: createRedactor({ secrets: options.secrets ?? [] }),
  });
  return { runId, running };
}
