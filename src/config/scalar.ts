/** What a plain (unquoted) scalar means in the subset, and which ones mean something else to another YAML reader. */

export type PlainScalar =
  | { readonly kind: 'value'; readonly value: string | number | boolean | null }
  | { readonly kind: 'ambiguous'; readonly looksLike: string };

const AMBIGUOUS: readonly (readonly [RegExp, string])[] = [
  [/^(?:y|n|yes|no|on|off)$/i, 'a boolean'],
  [/^(?:true|false)$/i, 'a boolean'],
  [/^(?:~|null)$/i, 'null'],
  [/^[-+]?0o?[0-9_]+$/i, 'an octal number'],
  [/^[-+]?0x[0-9a-f_]+$/i, 'a hexadecimal number'],
  [/^[-+]?0b[01_]+$/i, 'a binary number'],
  [/^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/, 'a sexagesimal number'],
  [/^\d{4}-\d{1,2}-\d{1,2}(?:[Tt \t].*)?$/, 'a date'],
  [/^[-+]?(?:\.\d[\d_]*|\d[\d_]*(?:\.[\d_]*)?)(?:e[-+]?\d+)?$/i, 'a number'],
  [/^[-+]?\.inf$/i, 'infinity'],
  [/^\.nan$/i, 'not-a-number'],
  [/^(?:=|<<)$/, 'a YAML 1.1 operator'],
];

/** Total. `source` is the scalar as written, without quotes and outer spaces. */
export function readPlain(source: string): PlainScalar {
  if (source === '' || source === 'null') return { kind: 'value', value: null };
  if (source === 'true' || source === 'false') return { kind: 'value', value: source === 'true' };
  if (/^(?:0|-?[1-9]\d*)$/.test(source)) return { kind: 'value', value: Number(source) };
  for (const [pattern, looksLike] of AMBIGUOUS) if (pattern.test(source)) return { kind: 'ambiguous', looksLike };
  return { kind: 'value', value: source };
}
