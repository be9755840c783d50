/**
 * One line of output as JSON, and reading what a worker wrote without trusting its shape. Everything here is total: a
 * value of another kind than the asked one is nothing.
 */
export type JsonObject = Readonly<Record<string, unknown>>;

const NOTHING: JsonObject = Object.freeze({});

/** The object that a line holds, or null for anything else: prose, a torn line, an array, a number. */
export function parseLine(line: string): JsonObject | null {
  const start = line.search(/\S/);
  // A long line that was cut is torn, and not worth reading to that end.
  if (start < 0 || line[start] !== '{' || !line.trimEnd().endsWith('}')) return null;
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : null;
  } catch {
    // Not JSON is an answer: workers print what they like.
    return null;
  }
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value as an object; an empty one where it is none. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : NOTHING);

/** The value as a non-empty string, or null. */
export const stringOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** The value as a finite number, or null. */
export const numberOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

/** The value as a list; empty where it is none. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A message's text: a string, or the joined `text` of its content blocks (Anthropic's shape, which most CLIs use). */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map(objectOf)
    .filter((block) => block.type === 'text')
    .map((block) => stringOf(block.text) ?? '')
    .join('');
}
