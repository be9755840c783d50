/** Where other file systems, or other folders of this one, are mounted inside a folder: nothing there is the worker's. */
import { readFileSync } from 'node:fs';
import { decodePath } from '../model/path.ts';

const unescaped = (field: string): string =>
  decodePath(
    Buffer.from(
      field.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))),
      'latin1',
    ),
  );

/** Mount points at or below `root`, from the kernel's table (Linux; none are known elsewhere). */
export function mountsInside(root: string): string[] {
  let table: string;
  try {
    table = readFileSync('/proc/self/mountinfo', 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return table
    .split('\n')
    .map((line) => unescaped(line.split(' ')[4] ?? ''))
    .filter((point) => point === root || point.startsWith(`${root}/`));
}
