/** The path by which GitHub knows a file: annotations name files from the top of the checkout. */
import { isAbsolute, relative } from 'node:path';
import type { CliIo } from './io.ts';

/** `path`: absolute, or null where the file has none; `shownAs`: the name where it is not in the checkout. */
export function githubPath(io: CliIo, path: string | null, shownAs: string): string {
  const workspace = io.env.GITHUB_WORKSPACE;
  if (path === null || workspace === undefined || workspace === '') return shownAs;
  const inside = relative(workspace, path);
  return inside === '' || inside.startsWith('..') || isAbsolute(inside) ? shownAs : inside;
}
