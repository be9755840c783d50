/**
 * Changes every string of a JSON value. Total on what `JSON.parse` can give: `__proto__` is an ordinary key, depth is
 * bounded (a worker's last message can nest as deep as it is long) and no entry is lost when two keys become one.
 */

/** Records themselves nest less than ten levels; what a worker adds is cut at the first limit, so that no record passes the second. */
const CUT_AT = 100;
const DEEPEST = 200;
const TOO_DEEP = '[nested too deeply]';

/** True where a value nests deeper than any record of this tool. */
export function nestsTooDeep(value: unknown, room = DEEPEST): boolean {
  if (value === null || typeof value !== 'object') return false;
  return room === 0 || Object.values(value).some((member) => nestsTooDeep(member, room - 1));
}

/** True where some string or member name of a value (not nested too deeply) passes `test`. */
export function someString(value: unknown, test: (text: string) => boolean): boolean {
  if (typeof value === 'string') return test(value);
  if (value === null || typeof value !== 'object') return false;
  return Object.entries(value).some(([key, member]) => test(key) || someString(member, test));
}

/** True where some number of a value (not nested too deeply) passes `test`. */
export function someNumber(value: unknown, test: (number: number) => boolean): boolean {
  if (typeof value === 'number') return test(value);
  return value !== null && typeof value === 'object' && Object.values(value).some((member) => someNumber(member, test));
}

interface WalkOptions {
  /** `change`: names of members are changed as well; `keep`: they belong to the record's shape. */
  readonly keys: 'change' | 'keep';
  /** Levels that are kept. */
  readonly cutAt?: number;
}

/** A copy of the value with every string changed; what nests deeper than `cutAt` levels is replaced by a word. */
export function mapStrings(value: unknown, change: (text: string) => string, options: WalkOptions): unknown {
  const cutAt = options.cutAt ?? CUT_AT;
  const walk = (node: unknown, depth: number): unknown => {
    if (typeof node === 'string') return change(node);
    if (node === null || typeof node !== 'object') return node;
    if (depth >= cutAt) return TOO_DEEP;
    if (Array.isArray(node)) return node.map((item) => walk(item, depth + 1));
    const members = new Map<string, unknown>();
    for (const [key, member] of Object.entries(node)) {
      const name = options.keys === 'keep' ? key : freeName(members, change(key));
      members.set(name, walk(member, depth + 1));
    }
    return Object.fromEntries(members);
  };
  return walk(value, 0);
}

function freeName(taken: ReadonlyMap<string, unknown>, wanted: string): string {
  let name = wanted;
  for (let n = 2; taken.has(name); n++) name = `${wanted} (${n})`;
  return name;
}
