/**
 * Which git is run. A worker may put a program named git into any folder of PATH that it can write, or over the one that
 * is there. So the file is looked up once, before any worker, and never again; and where this user could write it, it
 * must be the same file at every start. The invariant: after a worker, no other git runs than before it.
 */
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

interface WatchedProgram {
  readonly file: string;
  readonly identity: string;
}

interface GitProgram {
  /** Absolute, without symlinks. */
  readonly file: string;
  /** Where git finds the programs that it starts itself; null until told. */
  helpers: string | null;
  /** Files that would act in git's name, as they were when found; none where only another user can write them. */
  readonly watched: WatchedProgram[];
}

/** By PATH: a process has one, and tests have several. */
const found = new Map<string, GitProgram>();

/** Null where no absolute entry of `path` has a git; relative ones would mean whoever's folder this is. */
export function gitProgram(path: string): GitProgram | null {
  const known = found.get(path);
  if (known !== undefined) return known;
  const file = lookUp(path);
  if (file === null) return null;
  const program: GitProgram = { file, helpers: null, watched: [] };
  watch(program, file);
  found.set(path, program);
  return program;
}

/** `folder`: git's own answer to `--exec-path`; git starts the `git` in there for some of its work. */
export function learnHelpers(path: string, folder: string): void {
  const program = found.get(path);
  if (program === undefined || program.helpers !== null || !isAbsolute(folder)) return;
  program.helpers = folder;
  watch(program, join(folder, 'git'));
}

/** The program that is not the file it was when it was found; null where none is. */
export const replacedProgram = ({ watched }: GitProgram): string | null =>
  watched.find(({ file, identity }) => identityOf(file) !== identity)?.file ?? null;

function watch(program: GitProgram, file: string): void {
  if (isOurs(file)) program.watched.push({ file, identity: identityOf(file) });
}

function lookUp(path: string): string | null {
  for (const folder of path.split(':').filter((entry) => isAbsolute(entry))) {
    const file = join(folder, 'git');
    try {
      accessSync(file, constants.X_OK);
      if (statSync(file).isFile()) return realpathSync(file);
    } catch {
      // Not here: the next folder is asked.
    }
  }
  return null;
}

/** Change time among them, which nobody can set: a file with other content has another identity. */
function identityOf(file: string): string {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? 'absent' : `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
}

/** Whether this user, and so a worker, could put something else at `file`: by the file itself or any folder above. */
function isOurs(file: string): boolean {
  const uid = process.getuid?.();
  for (let at = file; ; at = dirname(at)) {
    if (statSync(at, { throwIfNoEntry: false })?.uid === uid || isWritable(at)) return true;
    if (at === dirname(at)) return false;
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    // The refusal is the answer.
    return false;
  }
}
