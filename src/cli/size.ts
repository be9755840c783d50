/** Numbers of bytes in words. */

const UNITS = ['KiB', 'MiB', 'GiB'];

/** `17 bytes`, `1.5 KiB`, `2.0 GiB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  const power = Math.min(UNITS.length, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** power).toFixed(1)} ${UNITS[power - 1]}`;
}
