/** The receipt that a person names: a file, standard input, or a run whose receipt is in the state root. */
import { lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { EXIT } from '../model/codes.ts';
import type { PlanRecord } from '../model/plan-record.ts';
import { err, ok, type Result } from '../model/result.ts';
import { readRegularFile } from '../run/config-file.ts';
import { isRunId, runDirectory } from '../store/run-directory.ts';
import { readRunState } from '../store/run-state.ts';
import { type ChoosingOptions, chooseRun } from './chosen-run.ts';
import type { CliIo } from './io.ts';
import { existingStateRoot } from './surroundings.ts';
import { whyUnreadable } from './unreadable-file.ts';

export interface ReceiptSource {
  /** As messages and cards name it. */
  readonly shownAs: string;
  /** Absolute; null for standard input. */
  readonly path: string | null;
  readonly bytes: Uint8Array;
}

export interface NoSource {
  readonly message: string;
  readonly exitCode: number;
}

/** What can be read in a moment: forty attempts that each changed a thousand files with long names. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Words are a path where they contain a slash, end in .json or name something that exists; otherwise a run. */
export async function receiptSource(
  io: CliIo,
  wanted: string,
  options: ChoosingOptions,
): Promise<Result<ReceiptSource, NoSource>> {
  if (wanted === '-') {
    const bytes = await io.stdin(MAX_BYTES);
    return bytes === null
      ? unreadable('standard input', TOO_LARGE)
      : ok({ shownAs: 'standard input', path: null, bytes });
  }
  if (isPath(io, wanted)) return readSource(wanted, resolve(io.cwd(), wanted));
  const chosen = await chooseRun(io, options, wanted);
  if (!chosen.ok) return err(chosen.error);
  const { place, receipt, phase } = chosen.value;
  return receipt.kind === 'absent'
    ? unreadable(`run ${place.runId}`, `it has no receipt yet (it is ${phase})`)
    : readSource(place.receipt, place.receipt);
}

function isPath(io: CliIo, wanted: string): boolean {
  if (wanted.includes('/') || wanted.endsWith('.json')) return true;
  const isName = wanted !== '' && !wanted.includes('\0');
  return isName && lstatSync(resolve(io.cwd(), wanted), { throwIfNoEntry: false }) !== undefined;
}

function readSource(shownAs: string, path: string): Result<ReceiptSource, NoSource> {
  if (path.includes('\0')) return unreadable(shownAs, 'no file can have such a name');
  const bytes = readRegularFile(path, MAX_BYTES);
  if (!bytes.ok) return unreadable(shownAs, whyUnreadable(bytes.error));
  if (bytes.value.length > MAX_BYTES) return unreadable(shownAs, TOO_LARGE);
  return ok({ shownAs, path, bytes: bytes.value });
}

const TOO_LARGE = `it is larger than ${MAX_BYTES / 1024 / 1024} MiB, and no receipt is`;
const unreadable = (shownAs: string, why: string): Result<never, NoSource> =>
  err({ message: `${shownAs} cannot be read: ${why}`, exitCode: EXIT['invalid-config'] });

/** What is kept of a run, by its whole id; null where it is not there, or cannot be read. */
export interface KeptRuns {
  /** The plan that it wrote down before it began. */
  readonly planOf: (runId: string) => Promise<PlanRecord | null>;
  readonly receiptOf: (runId: string) => ReceiptSource | null;
}

/** Looks in the state root, as long as the directories of the runs are there. */
export async function keptRuns(io: CliIo, { stateDir }: ChoosingOptions): Promise<KeptRuns> {
  const root = await existingStateRoot(io, stateDir);
  const placeOf = (runId: string) => (root.ok && isRunId(runId) ? runDirectory(root.value, runId) : null);
  return {
    planOf: async (runId) => {
      const place = placeOf(runId);
      return place === null ? null : (await readRunState(place)).plan;
    },
    receiptOf: (runId) => {
      const place = placeOf(runId);
      const source = place === null ? null : readSource(place.receipt, place.receipt);
      return source?.ok === true ? source.value : null;
    },
  };
}
