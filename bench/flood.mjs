/**
 * What a worker's flood of output costs, for each format and kind of line: processor time (user and system) of agent-exec's
 * own process and the most memory that it had, beside what `cat` takes to throw as many bytes away. Linux only.
 *   node bench/flood.mjs [MEGABYTES] [WORD]    by default 1000, and every row; WORD chooses rows by format and kind
 * The tool is dist/agent-exec.mjs, or what AGENT_EXEC_TOOL names.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FLOODS } from './flood-lines.mjs';
import { environmentIn, makeRepository, runArgs } from './repository.mjs';

const tool = process.env.AGENT_EXEC_TOOL ?? fileURLToPath(new URL('../dist/agent-exec.mjs', import.meta.url));
const megabytes = Number(process.argv[2] ?? 1000);
const chosen = process.argv[3] ?? '';
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'agent-exec-flood-')));
const env = environmentIn(folder);
// opencode is not started without a login.
mkdirSync(join(folder, '.local/share/opencode'), { recursive: true });
writeFileSync(join(folder, '.local/share/opencode/auth.json'), JSON.stringify({ none: { type: 'api', key: 'none' } }));
/** Clock ticks of /proc. */
const TICKS = 100;
const BLOCK = 4_000_000;

/** A file of about four megabytes of the block, so that printing it is `cat`. */
function blockFile({ format, kind, block }) {
  const path = join(folder, `${format}-${kind.replaceAll(/\W+/g, '-')}`);
  writeFileSync(path, Buffer.concat(Array(Math.ceil(BLOCK / block.length)).fill(block)));
  return path;
}

const printing = (path, times) => `i=0; while [ $i -lt ${times} ]; do cat ${path}; i=$((i+1)); done`;

/** A repository whose one worker floods, reads as `format`. Returns its path. */
const repository = (name, format, flood) =>
  makeRepository(folder, {
    name,
    files: { 'src/f.txt': 'file\n' },
    script: `${flood}\necho ok >> src/f.txt`,
    format,
  }).repo;

/** Peak resident memory in MB and processor seconds of one process, read while it lives and as a zombie. */
async function watched(command, args, input) {
  const child = spawn(command, args, { env, stdio: [input, 'ignore', 'inherit'] });
  let peak = 0;
  let cpu = 0;
  const look = setInterval(() => {
    try {
      // A zombie has no memory any more; the highest look counts.
      const now = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
      peak = Math.max(peak, now);
      const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      cpu = (Number(fields[11]) + Number(fields[12])) / TICKS;
    } catch {
      // It has just ended; the last look counts.
    }
  }, 5);
  await new Promise((resolve) => child.on('exit', resolve));
  clearInterval(look);
  return { peak, cpu };
}

/** Seconds of processor that `cat` takes for a GB that it throws away. */
async function nowhere() {
  const row = FLOODS[1];
  const path = blockFile(row);
  const gigabytes = 4;
  const times = Math.round((gigabytes * 1e9) / statSync(path).size);
  const source = spawn('sh', ['-c', printing(path, times)], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const { cpu } = await watched('cat', [], source.stdout);
  rmSync(path);
  return cpu / gigabytes;
}

async function flood(row, number, nothing, bare) {
  const path = blockFile(row);
  const block = readFileSync(path).length;
  const times = Math.max(1, Math.round((megabytes * 1e6) / block));
  const gigabytes = (block * times) / 1e9;
  const repo = repository(`flood-${number}`, row.format, printing(path, times));
  const { peak, cpu } = await watched(process.execPath, runArgs(tool, folder, repo), 'ignore');
  const perGb = (cpu - nothing) / gigabytes;
  const title = `${row.format}, ${row.kind}`.padEnd(40);
  console.log(
    `${title} ${perGb.toFixed(2)} s/GB, ${(perGb / bare).toFixed(0)} times cat, peak ${peak.toFixed(0)} MB (whole run ${cpu.toFixed(2)} s)`,
  );
  rmSync(path);
}

try {
  const quiet = await watched(process.execPath, runArgs(tool, folder, repository('quiet', 'text', ':')), 'ignore');
  console.log(
    `a run without a flood: ${quiet.cpu.toFixed(2)} s of processor, taken off below; peak ${quiet.peak.toFixed(0)} MB`,
  );
  const bare = await nowhere();
  console.log(`cat to nowhere: ${bare.toFixed(2)} s/GB`);
  let number = 0;
  for (const row of FLOODS) {
    if (`${row.format}, ${row.kind}`.includes(chosen)) await flood(row, ++number, quiet.cpu, bare);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
