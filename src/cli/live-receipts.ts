/** Where `probe --live --receipts DIR` keeps its receipts, decided before the first request is made. */
import { rmdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isIgnoredNow } from '../git/ignored-now.ts';
import { err, ok, type Result } from '../model/result.ts';
import { fileProblem } from '../store/durable-file.ts';
import { makePrivateFolder } from '../store/private-folder.ts';
import { checkReceiptPath, type ReceiptPathProblem } from '../store/receipt-path.ts';
import { type CallingRepository, gitFoldersOf } from './calling-repository.ts';
import type { CliIo } from './io.ts';
import { explainReceiptPath } from './problems.ts';

/** The path of each profile's receipt; null where none are kept. What had to be made for a refused one is taken back. */
export async function liveReceiptPlaces(
  io: CliIo,
  names: readonly string[],
  calledFrom: CallingRepository | null,
  given: string | undefined,
): Promise<Result<ReadonlyMap<string, string> | null, string>> {
  if (given === undefined) return ok(null);
  if (given === '') return err('--receipts is empty. Name a folder.');
  const folder = resolve(io.cwd(), given);
  let isNew = false;
  try {
    await makePrivateFolder(folder);
    isNew = true;
  } catch (error) {
    const { code, message } = fileProblem(error);
    const explained = explainReceiptPath(unmade(folder, code, message), '--receipts').message;
    if (code !== 'EEXIST') return err(explained);
  }
  const places = new Map<string, string>();
  for (const name of names) {
    const checked = await checkReceiptPath({
      path: resolve(folder, `${name}.json`),
      cwd: io.cwd(),
      worktree: calledFrom?.worktree ?? null,
      gitDirectories: gitFoldersOf(calledFrom),
      isIgnored: async (path) => calledFrom !== null && (await isIgnoredNow(calledFrom, path, io.env)),
    });
    if (!checked.ok) {
      if (isNew) await rmdir(folder);
      return err(explainReceiptPath(ofTheFolder(checked.error, folder), '--receipts').message);
    }
    places.set(name, checked.value);
  }
  return ok(places);
}

function unmade(path: string, code: string, message: string): ReceiptPathProblem {
  const parent = dirname(path);
  switch (code) {
    case 'ENOENT':
      return { kind: 'parent-missing', path, parent };
    case 'ENOTDIR':
      return { kind: 'parent-not-folder', path, parent };
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return { kind: 'not-writable', path, parent, code };
    default:
      return { kind: 'unusable', path, code, message };
  }
}

/** To ignore one profile's receipt would help until the next one; at the top of the worktree there is no folder to ignore. */
function ofTheFolder(problem: ReceiptPathProblem, folder: string): ReceiptPathProblem {
  if (problem.kind !== 'not-ignored') return problem;
  const above = dirname(problem.inRepository);
  return above === '.' ? problem : { ...problem, path: folder, inRepository: `${above}/` };
}
