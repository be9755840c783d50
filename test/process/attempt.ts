/** A folder, limits and a unique marker around one supervised fixture, and the proof afterwards that nothing of it lives. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { linesOf } from '../../src/adapters/lines.ts';
import { type Containment, detectContainment, lookUpTool } from '../../src/process/containment.ts';
import { type SuperviseOutcome, type SuperviseRequest, supervise } from '../../src/process/supervise.ts';

export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export const fixture = (name: string): string => join(import.meta.dirname, 'fixtures', name);

export const scratch = (): string => realpathSync(mkdtempSync(join(tmpdir(), 'agent-exec-test-')));

/** The containment found when only these tools are on PATH; throws where it is not the wanted one. */
async function containmentOf(wanted: 'guard' | 'none', tools: readonly string[]): Promise<Containment> {
  const folder = scratch();
  try {
    for (const tool of tools) symlinkSync(lookUpTool(tool, PATH) ?? `/missing/${tool}`, join(folder, tool));
    const found = await detectContainment({ wanted, platform: 'linux', path: folder, scratchParent: '/tmp' });
    if (!found.ok) throw new Error(found.error.message);
    return JSON.parse(
      JSON.stringify(found.value, (_, value) =>
        typeof value === 'string' ? value.replace(`${folder}/`, '/usr/bin/') : value,
      ),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export const bwrap = await containmentOf('guard', ['bwrap']);
export const unshare = await containmentOf('none', ['unshare', 'setpriv']);
export const sweep = await containmentOf('none', ['prlimit']);
export const blindSweep = await containmentOf('none', []);

export const MECHANISMS = [
  { name: 'bwrap', containment: bwrap },
  { name: 'unshare', containment: unshare },
  { name: 'sweep', containment: sweep },
  { name: 'sweep without mark', containment: blindSweep },
] as const;

export interface Attempt {
  readonly folder: string;
  readonly workspace: string;
  readonly marker: string;
  /** Lines seen so far, as `stream: line`. */
  readonly lines: string[];
  run(fixtureName: string, args: readonly string[], changes?: Partial<SuperviseRequest>): Promise<SuperviseOutcome>;
  /** Resolves once the worker has printed this line on stdout. */
  said(line: string): Promise<void>;
  log(stream: 'stdout' | 'stderr'): string;
  logPath(stream: 'stdout' | 'stderr'): string;
  remove(): void;
}

export function attempt(containment: Containment): Attempt {
  const folder = scratch();
  const workspace = join(folder, 'workspace');
  mkdirSync(workspace);
  const marker = `mark-${randomBytes(8).toString('hex')}`;
  const lines: string[] = [];
  const waiting = new Map<string, () => void>();
  return {
    folder,
    workspace,
    marker,
    lines,
    run: (fixtureName, args, changes = {}) =>
      supervise({
        executable: fixtureName.startsWith('/') ? fixtureName : fixture(fixtureName),
        args,
        cwd: workspace,
        environment: { PATH },
        stdin: { kind: 'null' },
        containment,
        mounts: { readOnly: [], writable: [] },
        networkOff: false,
        limits: {
          timeoutMs: 30_000,
          idleTimeoutMs: null,
          providerWaitMs: 10_000,
          graceMs: 300,
          rawOutputBytes: 65_536,
        },
        lingerMs: null,
        logs: { stdout: join(folder, 'stdout.log'), stderr: join(folder, 'stderr.log') },
        marker,
        onOutput: (stream, block) => {
          for (const line of linesOf(block)) {
            lines.push(`${stream}: ${line}`);
            if (stream === 'stdout') waiting.get(line)?.();
          }
          return [[]];
        },
        stop: null,
        ...changes,
      }),
    said: (line) =>
      new Promise((resolve) => {
        waiting.set(line, resolve);
        if (lines.includes(`stdout: ${line}`)) resolve();
      }),
    log: (stream) => readFileSync(join(folder, `${stream}.log`), 'latin1'),
    logPath: (stream) => join(folder, `${stream}.log`),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Live processes that show `word` in their command line or environment. */
export function processesShowing(word: string): number[] {
  const read = (path: string): string => {
    try {
      return readFileSync(path, 'latin1');
    } catch {
      return '';
    }
  };
  return readdirSync('/proc')
    .map(Number)
    .filter(
      (pid) =>
        Number.isInteger(pid) &&
        pid !== process.pid &&
        (read(`/proc/${pid}/cmdline`).includes(word) || read(`/proc/${pid}/environ`).includes(word)),
    );
}

export function expectNobodyLeft(marker: string): void {
  expect(processesShowing(marker)).toEqual([]);
}
