/** Holds what a worker says that it changed against what changed. Total, and bounded in what it compares. */
import type { Role } from '../model/config.ts';
import type { Change, Finding, WorkerResultEvidence } from '../model/evidence.ts';
import type { RepoPath } from '../model/path.ts';
import type { WorkerResult } from '../model/result-contract.ts';
import { resultContract } from '../model/worker-result.ts';

/** Words of a claim that may be paths: no quotes, brackets, commas; a sentence's end and a leading `./` fall away. */
const pathsIn = (claim: string): string[] =>
  (claim.match(/[^\s`'"(){}[\],;:]+/g) ?? []).map((word) => word.replace(/^(?:\.\/)+/, '').replace(/(?<!\.)\.+$/, ''));

/** A name that no word of a claim can be. */
const ODD_NAME = /[\s`'"(){}[\],;:]|\.$/;

/** Absolute words, and odd names, that are compared one by one: nobody reads more, and a worker may write any number. */
const COMPARED = 1000;

/** Is this path named in the claims? Workers also name files by their place in the workspace. */
function namedIn(claims: readonly string[], count: number): (path: string) => boolean {
  const words = new Set(claims.flatMap(pathsIn));
  const absolute = [...words].filter((word) => word.startsWith('/')).slice(0, COMPARED);
  return (path) =>
    words.has(path) ||
    absolute.some((word) => word.endsWith(`/${path}`)) ||
    (count <= COMPARED && ODD_NAME.test(path) && claims.some((claim) => claim.includes(path)));
}

/** The file that a claim begins with, where it looks like one: `src/add.js: fixed the sign`, `{"path":"src/add.js"}`. */
const fileOf = (claim: string): string | null =>
  /^(?:\{"(?:path|file)":)?[`'"]?(?:\.\/)*((?:[\w@.+-]+\/)*[\w@+-][\w@.+-]*\.\w+)[`'"]?(?=[\s:,;}]|$)/.exec(
    claim.slice(0, 4200),
  )?.[1] ?? null;

/** What of the observed changes nobody may have counted on, and what was claimed and is not there; notes, never a verdict. */
export function compareClaims(
  { expects, result: contract }: Pick<Role, 'expects' | 'result'>,
  result: WorkerResultEvidence,
  changes: readonly Change[],
): Finding[] {
  const paths = changes.map(({ path }) => path);
  const unexpected = expects === 'report' ? paths : [];
  const findings = [finding('CHANGES_NOT_EXPECTED', 'changed, and the role expects a report alone', unexpected)];
  if (contract !== null && result.kind === 'valid') {
    const claims = resultContract(contract).claims(result.value as WorkerResult);
    const isClaimed = namedIn(claims, changes.length);
    const unclaimed = expects === 'report' ? [] : paths.filter((path) => !isClaimed(path));
    findings.push(
      finding('CHANGE_NOT_CLAIMED', 'changed, and not in the result', unclaimed),
      unmadeClaims(claims, paths),
    );
  }
  return findings.filter((one) => one !== null);
}

const finding = (code: string, message: string, paths: readonly RepoPath[]): Finding | null =>
  paths.length === 0 ? null : { code, message, paths };

function unmadeClaims(claims: readonly string[], paths: readonly string[]): Finding | null {
  const changed = new Set(paths);
  const unmade = claims.map(fileOf).filter((file) => file !== null && !changed.has(file));
  return unmade.length === 0
    ? null
    : { code: 'CLAIM_NOT_CHANGED', message: `in the result, and not changed: ${unmade.join(', ')}`, paths: [] };
}
