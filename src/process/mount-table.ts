/**
 * What is mounted where, read from the kernel's own table. Pure. Its one question: by which other paths can a file be
 * reached? A second mount of the same file system is a way around a read-only mount of the first.
 */
export interface MountEntry {
  /** `major:minor` of the file system. */
  readonly device: string;
  /** The folder of the file system that is seen at `point`. */
  readonly root: string;
  readonly point: string;
  readonly type: string;
}

const unquote = (field: string): string =>
  field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

/** Reads /proc/self/mountinfo, given as latin1 so that every byte of a path survives; paths come back as UTF-8. */
export function parseMountInfo(text: string): MountEntry[] {
  const path = (field: string) => Buffer.from(unquote(field), 'latin1').toString('utf8');
  return text.split('\n').flatMap((line) => {
    const fields = line.split(' ');
    const [, , device, root, point] = fields;
    const type = fields[fields.indexOf('-') + 1];
    if (device === undefined || root === undefined || point === undefined || type === undefined) return [];
    return [{ device, root: path(root), point: path(point), type }];
  });
}

export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);

const join = (folder: string, rest: string): string => `${folder === '/' ? '' : folder}${rest}` || '/';
const below = (path: string, folder: string): string => (folder === '/' ? path : path.slice(folder.length));

/** The other paths at which `path` (absolute, canonical), or a part of it, is mounted too. */
export function aliasesOf(path: string, table: readonly MountEntry[]): string[] {
  const own = table.reduce<MountEntry | null>(
    (best, mount) => (isInside(path, mount.point) && mount.point.length >= (best?.point.length ?? 0) ? mount : best),
    null,
  );
  if (own === null) return [];
  const within = join(own.root, below(path, own.point)).replace(/(.)\/$/, '$1');
  return table.flatMap((other) => {
    if (other === own || other.device !== own.device) return [];
    if (isInside(within, other.root)) {
      const alias = join(other.point, below(within, other.root)).replace(/(.)\/$/, '$1');
      return alias === path ? [] : [alias];
    }
    // A part of it is mounted elsewhere by itself.
    return isInside(other.root, within) && !isInside(other.point, path) ? [other.point] : [];
  });
}
