/** Makes one plain JavaScript file of a source text, to be run by a Node of its own: as another user, or to be killed. */
import { buildSync } from 'esbuild';

/** `source` is TypeScript whose relative imports start at this folder. */
export function bundle(source: string, outfile: string): void {
  buildSync({
    stdin: { contents: source, resolveDir: import.meta.dirname, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    logLevel: 'error',
  });
}

/** A program that supervises one worker, told by a JSON file, and prints the outcome and what it cost. */
export const DRIVER = `
import { readFileSync } from 'node:fs';
import { linesOf } from '../../src/adapters/lines.ts';
import { detectContainment } from '../../src/process/containment.ts';
import { supervise } from '../../src/process/supervise.ts';
const { wanted, path, reads, input, ...request } = JSON.parse(readFileSync(process.argv[2]!, 'utf8'));
const containment = await detectContainment({ wanted, platform: 'linux', path, scratchParent: '/tmp' });
if (!containment.ok) throw new Error(containment.error.message);
let lines = 0;
const before = process.cpuUsage();
const outcome = await supervise({
  ...request,
  containment: containment.value,
  mounts: request.mounts ?? { readOnly: [], writable: [] },
  networkOff: false, lingerMs: null, stop: null,
  stdin: input === undefined ? { kind: 'null' } : { kind: 'bytes', bytes: Buffer.from(input) },
  onOutput: reads ? (stream, block) => { const read = linesOf(block); lines += read.length; if (read.includes('ready')) process.stdout.write('ready\\n'); return [[]]; } : null,
});
const cpu = process.cpuUsage(before);
const peakRss = Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))![1]) * 1024;
console.log(JSON.stringify({ mechanism: containment.value, outcome, lines, peakRss, cpuSeconds: (cpu.user + cpu.system) / 1e6 }));
`;
