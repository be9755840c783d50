/**
 * The tool with death built in: at each place where it makes something durable (a journal record, a telemetry line, a
 * file put in place) it counts, and where AX_CRASH says so it kills itself. Three deaths a place: before, halfway through
 * an append (a torn line), after. Or the disk takes nothing any more from that place on. The product itself knows nothing
 * of this.
 */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

export const DEATHS = ['before', 'torn', 'after'] as const;

const COUNTER = `
import { appendFileSync as __note, writeSync as __write } from 'node:fs';
const [__at, __how] = (process.env.AX_CRASH ?? '').split(':');
const __die = () => { process.kill(process.pid, 'SIGKILL'); for (;;) {} };
export async function crashing(what, bytes, fd, work) {
  const place = String(++globalThis.__crashPlace);
  if (process.env.AX_CRASH_LOG) __note(process.env.AX_CRASH_LOG, place + ' ' + what + '\\n');
  if (place === __at && __how === 'before') __die();
  if (place === __at && __how === 'torn') { if (fd !== null) __write(fd, bytes, 0, Math.floor(bytes.length / 2)); __die(); }
  if (Number(place) >= Number(__at) && /^E[A-Z]+$/.test(__how)) {
    throw Object.assign(new Error(__how + ': simulated'), { code: __how, syscall: 'write' });
  }
  const result = await work();
  if (place === __at && __how === 'after') __die();
  return result;
}
globalThis.__crashPlace ??= 0;
`;

/** Builds it; the path of the program. */
export async function crashingTool(): Promise<string> {
  const outfile = join(mkdtempSync(join(tmpdir(), 'ax-crashing-')), 'agent-exec.mjs');
  const replaced: string[] = [];
  await build({
    entryPoints: [new URL('../../src/main.ts', import.meta.url).pathname],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    define: { 'process.env.AGENT_EXEC_VERSION': '"0.0.0-crashing"' },
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
    },
    logLevel: 'error',
    plugins: [
      {
        name: 'death',
        setup(the) {
          the.onResolve({ filter: /^crash-counter$/ }, () => ({ path: 'crash-counter', namespace: 'crash' }));
          the.onLoad({ filter: /.*/, namespace: 'crash' }, () => ({ contents: COUNTER, loader: 'js' }));
          the.onLoad({ filter: /src\/store\/(append|durable-file)\.ts$/ }, ({ path }) => {
            const source = readFileSync(path, 'utf8');
            const wrapped = path.endsWith('append.ts')
              ? source.replace(
                  'export async function appendDurably(file: FileHandle, bytes: Uint8Array): Promise<void> {',
                  `export const appendDurably = (file: FileHandle, bytes: Uint8Array): Promise<void> =>
                    crashing(Buffer.from(bytes).toString().slice(0, 160).trim(), bytes, file.fd, () => appendReally(file, bytes));
                  async function appendReally(file: FileHandle, bytes: Uint8Array): Promise<void> {`,
                )
              : source.replace(
                  'export async function writeDurably(',
                  `export const writeDurably: typeof writeReally = (path, bytes, options) =>
                    crashing('file ' + path, null, null, () => writeReally(path, bytes, options)).catch((error) => err(fileProblem(error)));
                  async function writeReally(`,
                );
            if (wrapped !== source) replaced.push(path);
            return { contents: `import { crashing } from 'crash-counter';\n${wrapped}`, loader: 'ts' };
          });
        },
      },
    ],
  });
  if (replaced.length !== 2) throw new Error(`only ${replaced.length} of 2 places could be made deadly`);
  return outfile;
}
