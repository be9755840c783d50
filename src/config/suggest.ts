/** The known word that a person most likely meant. */

/** Optimal string alignment distance: insert, delete, replace, swap neighbours. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      row.push(best);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/** The closest of `known`, or null where nothing is close enough to be a slip of the pen. */
export function suggest(word: string, known: readonly string[]): string | null {
  if (word.length === 0 || word.length > 64) return null;
  const plain = word.toLowerCase().replace(/[- ]/g, '_');
  const ranked = known
    .map((candidate) => ({ candidate, far: distance(plain, candidate.replace(/-/g, '_')) }))
    .sort((a, b) => a.far - b.far);
  const best = ranked[0];
  if (best !== undefined && best.far <= Math.max(1, Math.floor(word.length / 3))) return best.candidate;
  return plain.length < 4 ? null : (known.find((candidate) => candidate.startsWith(plain)) ?? null);
}

/** A hint for an unknown word: the likely one, else what there is. */
export function didYouMean(word: string, known: readonly string[], what: string): string {
  const likely = suggest(word, known);
  if (likely !== null) return `Did you mean ${likely}?`;
  return known.length === 0 ? `There are no ${what}.` : `Known ${what}: ${known.slice(0, 20).join(', ')}.`;
}

/** A word is compared with every known one, so a long list of unknown words gets hints only as far as anyone reads. */
const MAX_HINTS = 50;

/** The hint for the unknown word at `index` of a list that may be of any length; null behind the first fifty. */
export const likelyWord = (index: number, word: string, known: readonly string[], what: string): string | null =>
  index < MAX_HINTS ? didYouMean(word, known, what) : null;
