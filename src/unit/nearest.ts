/** Finds the word somebody probably meant: at most two slips (a letter too many, missing, wrong or swapped) away. */

const MAX_SLIPS = 2;

/** The distance between two words in slips (Damerau-Levenshtein, optimal string alignment). */
function slips(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let best = Math.min(changed, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (beforeLast[j - 2] ?? 0) + 1);
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

const bare = (word: string): string => word.toLowerCase().replace(/[-_ ]/g, '');

/** The known word nearest to `word`, or null where none is near. Case, `-` and `_` do not count. */
export function nearest(word: string, known: readonly string[]): string | null {
  if (word.length > 40) return null;
  const ranked = known
    .map((candidate) => ({ candidate, distance: slips(bare(word), bare(candidate)) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  return best !== undefined && best.distance <= Math.min(MAX_SLIPS, Math.floor(word.length / 2))
    ? best.candidate
    : null;
}
