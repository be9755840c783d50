/** Places in a text, in UTF-16 code units, the end excluded. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** `text` with every range replaced by `marker`; ranges that touch or overlap give one marker. */
export function replaceRanges(text: string, ranges: readonly TextRange[], marker: string): string {
  if (ranges.length === 0) return text;
  const sorted = [...ranges].sort((a, b) => a.start - b.start);
  let result = '';
  let done = 0;
  let open = false;
  for (const { start, end } of sorted) {
    if (start > done || !open) {
      result += text.slice(done, start) + marker;
      open = true;
    }
    done = Math.max(done, end);
  }
  return result + text.slice(done);
}
