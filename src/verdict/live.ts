/**
 * Did a live probe pass? Only where the run succeeded, the host's own look agrees with every word of it, the file is the
 * one that was asked for to the byte, and nothing is left. `unavailable` needs the same clean end; everything else that
 * is not cancelled has failed, with all that differs.
 */
import type { CommitLook, LiveDifference, LiveEvidence, LiveVerdict } from '../model/live.ts';
import type { AttemptRecord } from '../model/receipt.ts';
import { contradicts } from './model-match.ts';

type Rule = (evidence: LiveEvidence, attempt: AttemptRecord) => LiveDifference | null;

/** States in which the workspace stays on purpose. */
const KEEPS_ITS_WORKSPACE: readonly string[] = ['scope-expansion', 'failed-unknown'];

const named = (words: readonly string[]): string =>
  words.slice(0, 3).join(', ') + (words.length > 3 ? ` and ${words.length - 3} more` : '');

const checkoutChanged: Rule = ({ checkout }) => {
  if (checkout.kind === 'none' || !checkout.workerCouldWrite) return null;
  if (checkout.kind === 'not-compared') {
    return {
      code: 'CANONICAL_UNPROVEN',
      message:
        'nothing kept the worker from writing to the checkout that the probe was called from, and without a commit that could not be compared: make a first commit, or ask under isolation: guard',
    };
  }
  if (checkout.differences.length === 0) return null;
  const changes = named(checkout.differences.map(({ what, path }) => `${what} ${path}`.trim()));
  return {
    code: 'CANONICAL_CHANGED',
    message: `the checkout that the probe was called from changed meanwhile (${changes}) and nothing kept the worker from doing it`,
  };
};

const processLeft: Rule = ({ leftRunning }) =>
  leftRunning > 0
    ? { code: 'PROCESS_SURVIVED', message: `${leftRunning} of its processes were still running and had to be ended` }
    : null;

const somethingLeft: Rule = ({ leftBehind }, { state, cleanup }) => {
  if (!leftBehind.ok) {
    return {
      code: 'CLEANUP_INEXACT',
      message: `what it left cannot be told, its records were taken away: ${leftBehind.error}`,
    };
  }
  if (KEEPS_ITS_WORKSPACE.includes(state)) return null;
  if (leftBehind.value.length > 0) return { code: 'CLEANUP_INEXACT', message: `it left ${named(leftBehind.value)}` };
  return cleanup.exact ? null : { code: 'CLEANUP_INEXACT', message: 'its cleanup is not proven exact' };
};

const recordsLost: Rule = ({ receipt }) => (receipt.outcome === 'evidence-failed' ? receipt.reason : null);

const transportWrong: Rule = ({ receipt, transport }, attempt) => {
  const invalid = (message: string): LiveDifference => ({ code: 'TRANSPORT_INVALID', message });
  const told = attempt.transport;
  if (told === null) return invalid('the receipt names no commit');
  if (transport === null) return invalid(`${told.ref} is no commit that git can read`);
  if (transport.commit !== told.commit)
    return invalid(`${told.ref} is ${transport.commit}, and the receipt says ${told.commit}`);
  const { base } = receipt.repository;
  return transport.parents.length === 1 && transport.parents[0] === base
    ? null
    : invalid(`its parents are ${transport.parents.join(' ') || 'none'}, not ${base} alone`);
};

const pathsWrong: Rule = ({ requested, transport }) => {
  if (transport === null) return null;
  const { changedPaths } = transport;
  return changedPaths.length === 1 && changedPaths[0] === requested.path
    ? null
    : {
        code: 'PATHS_DIFFER',
        message: `the commit changes ${named(changedPaths) || 'nothing'}, not ${requested.path} alone`,
      };
};

const contentWrong: Rule = ({ requested, transport, written }) => {
  if (transport === null) return null;
  const { file } = transport;
  if (file === null) return { code: 'CONTENT_DIFFERS', message: `${requested.path} is not a file in the commit` };
  const difference = describeContent(requested.bytes, file, written);
  return difference === null ? null : { code: 'CONTENT_DIFFERS', message: `${requested.path}: ${difference}` };
};

/** What makes `got` another content than `asked`, in words; null where it is the same to the byte. */
function describeContent(
  asked: Uint8Array,
  { size, bytes }: NonNullable<CommitLook['file']>,
  shown: string,
): string | null {
  const sizes = `${size} bytes instead of ${asked.length}`;
  if (bytes === null) return `other content (${sizes})`;
  const [want, have] = [asked, bytes].map((one) => Buffer.from(one).toString('latin1')) as [string, string];
  if (have === want) return null;
  if (`${have}\n` === want) return `the newline at its end is missing (${sizes})`;
  if (have.replaceAll('\r\n', '\n') === want) return `its line ends with CR LF, not with LF alone (${sizes})`;
  if (have === `\xef\xbb\xbf${want}`) return `a byte order mark stands before it (${sizes})`;
  if (have.trim() === want.trim()) return `the white space around the line differs (${sizes})`;
  return `other content (${sizes}): it begins with ${JSON.stringify(shown.slice(0, 60))}`;
}

const modelWrong: Rule = (_, { model }) =>
  model.resolved !== null && model.reported !== null && contradicts(model.resolved, model.reported)
    ? { code: 'MODEL_MISMATCH', message: `model ${model.resolved} was asked for and ${model.reported} answered` }
    : null;

const AFTER_ANY_END: readonly Rule[] = [checkoutChanged, processLeft, somethingLeft];
const AFTER_SUCCESS: readonly Rule[] = [
  checkoutChanged,
  processLeft,
  transportWrong,
  pathsWrong,
  contentWrong,
  modelWrong,
  somethingLeft,
  recordsLost,
];

/** Total. A run of the receipt's one candidate; where it never got to it, it was cancelled or is a failure of its own. */
export function judgeLive(evidence: LiveEvidence): LiveVerdict {
  const { receipt } = evidence;
  const [attempt] = receipt.attempts;
  if (attempt === undefined) {
    return receipt.outcome === 'cancelled'
      ? { result: 'cancelled' }
      : { result: 'failed', differences: [receipt.reason] };
  }
  const found = (rules: readonly Rule[]): LiveDifference[] =>
    rules.map((rule) => rule(evidence, attempt)).filter((difference) => difference !== null);
  const { state, code, message } = attempt;
  const [first, ...others] = found(state === 'success' ? AFTER_SUCCESS : AFTER_ANY_END);
  if (state === 'success') {
    return first === undefined ? { result: 'pass' } : { result: 'failed', differences: [first, ...others] };
  }
  if (first === undefined && state === 'unavailable') return { result: 'unavailable', code, message };
  if (first === undefined && state === 'cancelled') return { result: 'cancelled' };
  const behind = first === undefined ? [] : [first, ...others];
  return { result: 'failed', differences: [{ code, message }, ...behind.filter((one) => one.code !== code)] };
}
