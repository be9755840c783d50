/** Collects what is seen while walking, one violation or finding per kind with all its paths. */

import { showPath } from '../git/quote.ts';
import type { ViolationCode } from '../model/codes.ts';
import type { Finding, Violation } from '../model/evidence.ts';
import type { RepoPath } from '../model/path.ts';
import { inByteOrder } from './path-order.ts';

/** A finding decides nothing; the first paths tell as much as a hundred thousand. Violations name every path. */
const MAX_FINDING_PATHS = 1000;

interface Note {
  readonly code: string;
  readonly message: string;
  readonly paths: Set<RepoPath>;
}

const byBytes = (paths: Iterable<RepoPath>): RepoPath[] => inByteOrder(paths, (path) => path);

/** What was noted so far; its getters are in the order of first notes, their paths in git's order. */
export class Notes {
  readonly #violations = new Map<string, Note & { readonly code: ViolationCode }>();
  readonly #findings = new Map<string, Note>();
  readonly #failures = new Map<RepoPath, string>();

  violation(code: ViolationCode, message: string, path: RepoPath): void {
    const key = `${code} ${message}`;
    const note = this.#violations.get(key) ?? { code, message, paths: new Set() };
    this.#violations.set(key, note);
    note.paths.add(path);
  }

  /** `path` null where it concerns no file. */
  finding(code: string, message: string, path: RepoPath | null): void {
    const key = `${code} ${message}`;
    const note = this.#findings.get(key) ?? { code, message, paths: new Set() };
    this.#findings.set(key, note);
    if (path !== null) note.paths.add(path);
  }

  /** Something that could not be read or represented; `path` '' is the workspace itself. */
  failure(path: RepoPath, why: string): void {
    this.#failures.set(path, why);
  }

  get violations(): Violation[] {
    return [...this.#violations.values()].map((note) => ({ ...note, paths: byBytes(note.paths) }));
  }

  get findings(): Finding[] {
    return [...this.#findings.values()].map(({ code, message, paths }) => ({
      code,
      message: paths.size > MAX_FINDING_PATHS ? `${message} (${paths.size} in all)` : message,
      paths: byBytes(paths).slice(0, MAX_FINDING_PATHS),
    }));
  }

  /** Null where nothing failed. */
  get failed(): { readonly message: string; readonly paths: readonly RepoPath[] } | null {
    if (this.#failures.size === 0) return null;
    const paths = byBytes(this.#failures.keys());
    const words = paths.slice(0, 3).map((path) => {
      const why = this.#failures.get(path);
      return path === '' ? why : `${showPath(path)}: ${why}`;
    });
    const more = paths.length > 3 ? ` and ${paths.length - 3} more` : '';
    return { message: `${words.join('; ')}${more}`, paths: paths.filter((path) => path !== '') };
  }
}
