/** Where `probe --live --receipts DIR` keeps its receipts, decided before the first request is made. */
import { rmdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isIgnoredNow } from '../git/ignored-now.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { err, ok, type Result } from '../model/result.ts';
import { fileProblem } from '../store/durable-file.ts';
import { makePrivateFolder } from '../store/private-folder.ts';
import { checkReceiptPath } from '../store/receipt-path.ts';
import type { CliIo } from './io.ts';
import { explainReceiptPath } from './problems.ts';

/** Where the probe was called from; without facts where there is no commit yet. */
export interface Home {
  readonly worktree: string;
  readonly facts: RepositoryFacts | null;
}

/** The path of each profile's receipt; null where none are kept. What had to be made for a refused one is taken back. */
export async function liveReceiptPlaces(
  io: CliIo,
  names: readonly string[],
  home: Home | null,
  given: string | undefined,
): Promise<Result<ReadonlyMap<string, string> | null, string>> {
  if (given === undefined) return ok(null);
  if (given === '') return err('--receipts is empty.');
  const folder = resolve(io.cwd(), given);
  let isNew = false;
  try {
    await makePrivateFolder(folder);
    isNew = true;
  } catch (error) {
    const { code, message } = fileProblem(error);
    if (code !== 'EEXIST') return err(`--receipts ${given} cannot be made: ${message}.`);
  }
  const facts = home?.facts ?? null;
  const places = new Map<string, string>();
  for (const name of names) {
    const checked = await checkReceiptPath({
      path: resolve(folder, `${name}.json`),
      cwd: io.cwd(),
      worktree: home?.worktree ?? null,
      gitDirectories: facts === null ? [] : [facts.gitDir, facts.commonDir],
      isIgnored: async (path) => facts !== null && (await isIgnoredNow(facts, path, io.env)),
    });
    if (!checked.ok) {
      if (isNew) await rmdir(folder);
      return err(explainReceiptPath(checked.error, '--receipts').message);
    }
    places.set(name, checked.value);
  }
  return ok(places);
}
