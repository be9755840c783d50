/** Judges what one case left behind against what it had to leave. Every complaint is one sentence. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { repairs } from './cases.mjs';
import { POINTING } from './loopback.mjs';
import { commitFacts } from './repository.mjs';
import { MARKER } from './scenarios.mjs';

/** Scenarios in which a CLI never gets as far as asking the provider. */
const ASKS_NOBODY = new Set(['unreachable', 'no-credentials']);

/** @returns {string[]} the complaints; none: as expected */
export function complaints(test, expected, played, clis) {
  const found = [];
  const must = (holds, words) => {
    if (!holds) found.push(words);
  };
  must(played.exit === expected.exit, `exit ${played.exit} instead of ${expected.exit}`);
  must(played.receipt !== null, 'no receipt was written');
  if (played.receipt === null) return [...found, played.stderr.trim().slice(-400)];
  const { receipt } = played;
  const got = receipt.attempts.map((attempt) => `${attempt.state} ${attempt.code}`);
  must(receipt.outcome === expected.outcome, `outcome ${receipt.outcome} instead of ${expected.outcome}`);
  must(got.join(', ') === expected.attempts.join(', '), `${got.join(', ')} instead of ${expected.attempts.join(', ')}`);

  answer(test, played, must);

  const fallback = receipt.host_fallback !== null;
  must(fallback === (expected.exit === 5), fallback ? 'host fallback authorised' : 'host fallback not authorised');
  for (const [index, attempt] of receipt.attempts.entries()) {
    const { scenario } = test.casts[index];
    if (attempt.state === 'unavailable' || attempt.state === 'success') {
      must(attempt.cleanup.exact && attempt.cleanup.retained_path === null, `${attempt.attempt_id} was not cleaned up`);
    }
    must(attempt.processes.survivors === 0, `${attempt.attempt_id} has survivors`);
    if (attempt.process_started && !ASKS_NOBODY.has(scenario)) {
      must(played.requests[index] > 0, `${attempt.attempt_id} never asked its provider`);
    }
    if (attempt.state === 'success') success(attempt, played, must);
    const said = attempt.worker_result?.STATUS ?? 'nothing';
    const wanted = repairs(test) ? { OK: 'READY', WORKER_BLOCKED: 'BLOCKED' }[attempt.code] : undefined;
    must(said === (wanted ?? 'nothing'), `${attempt.attempt_id}'s result says ${said}`);
  }
  for (const [what, value] of Object.entries(played.before)) {
    must(played.after[what] === value, `the checkout's ${what} changed`);
  }
  leftovers(test, played, clis, must);
  return found;
}

/** What the caller reads: the summary; or of a repair the result alone, and the summary only where there is none. */
function answer(test, { receipt, stdout, stderr }, must) {
  const decided = repairs(test)
    ? receipt.attempts.find(({ code }) => code === 'OK' || code === 'WORKER_BLOCKED')
    : undefined;
  if (decided !== undefined) {
    const printed = JSON.stringify(parse(stdout));
    return must(printed === JSON.stringify(decided.worker_result), 'stdout is not the result of the receipt');
  }
  if (repairs(test)) must(stdout === '', 'something was printed that is no result');
  const text = repairs(test) ? (stderr.trimEnd().split('\n').at(-1) ?? '') : stdout;
  const summary = parse(text);
  must(
    summary?.outcome === receipt.outcome && summary?.run_id === receipt.run_id,
    'the answer is not the summary of the receipt',
  );
  must(Buffer.byteLength(text) <= 4096, 'the summary is over its bound');
}

function success(attempt, played, must) {
  if (attempt.transport === null) return must(false, 'success without a transport');
  const facts = commitFacts(played.repo, attempt.transport.commit, MARKER.path);
  must(facts.parents.length === 1 && facts.parents[0] === played.before.head, 'the transport is not on base alone');
  must(facts.paths.join() === MARKER.path, `the transport changes ${facts.paths.join()}`);
  must(facts.content === MARKER.content, 'the transport holds other content');
}

/** Processes, and files outside the workspace and the CLI's own folders. */
function leftovers(test, played, clis, must) {
  const alive = processesOf(played.folder);
  must(alive.length === 0, `still running: ${alive.join('; ')}`);
  const own = new Set(test.casts.flatMap(({ cli }) => POINTING[clis[cli].adapter].home));
  const strange = readdirSync(played.home).filter((name) => !own.has(name));
  must(strange.length === 0, `left in HOME: ${strange.join(', ')}`);
  const temporary = readdirSync(played.tmp);
  must(temporary.length === 0, `left in TMPDIR: ${temporary.join(', ')}`);
}

/** @returns {string[]} live processes that have the case's folder in their environment or arguments */
function processesOf(folder) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const args = readFileSync(path.join('/proc', pid, 'cmdline'), 'utf8').replaceAll('\0', ' ');
        const env = readFileSync(path.join('/proc', pid, 'environ'), 'utf8');
        const state = readFileSync(path.join('/proc', pid, 'stat'), 'utf8')
          .split(')')
          .pop()
          ?.trim()[0];
        return state !== 'Z' && (args.includes(folder) || env.includes(folder)) ? [`${pid} ${args.slice(0, 80)}`] : [];
      } catch {
        // It ended while it was looked at, or belongs to another user.
        return [];
      }
    });
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    // The complaint of the caller says it.
    return null;
  }
}
