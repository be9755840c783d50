/** Cuts text to a number of UTF-8 bytes at a character border, and shows that it did. Redact first: half a secret is not found. */
const MARK = '…';
const MARK_BYTES = 3;

const startsCharacter = (byte: number | undefined): boolean => byte === undefined || (byte & 0xc0) !== 0x80;

/** The beginning of `text`, at most `limit` (3 or more) bytes. */
export function headOf(text: string, limit: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= limit) return text;
  let end = limit - MARK_BYTES;
  while (!startsCharacter(bytes[end])) end--;
  return bytes.toString('utf8', 0, end) + MARK;
}

/** The end of `text`, at most `limit` (3 or more) bytes. */
export function tailOf(text: string, limit: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= limit) return text;
  let start = bytes.length - (limit - MARK_BYTES);
  while (!startsCharacter(bytes[start])) start++;
  return MARK + bytes.toString('utf8', start);
}
