/** The results as a table: for a terminal, and as Markdown. */
const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const WORDS = { held: 'held', detected: 'detected', 'not held': 'NOT HELD' };

/** One line a probe and isolation, as it happens. @param {import('./stage.mjs').Result} result */
export function resultLine({ probe, isolation, verdict, happened, seconds, folder }) {
  const where = folder === null ? '' : `  [${folder}]`;
  return `${probe.padEnd(34)} ${isolation.padEnd(6)} ${WORDS[verdict].padEnd(8)} ${seconds.toFixed(1).padStart(5)} s  ${happened}${where}`;
}

/** @param {readonly import('./stage.mjs').Result[]} results */
export function totals(results) {
  const count = (verdict) => results.filter((result) => result.verdict === verdict).length;
  return { held: count('held'), detected: count('detected'), notHeld: count('not held') };
}

/**
 * One row a probe, one column an isolation; under it, what happened where it did not hold.
 * @param {readonly import('./stage.mjs').Result[]} results in the order of the probes
 * @param {string} driver
 */
export function markdownTable(results, driver) {
  const isolations = [...new Set(results.map(({ isolation }) => isolation))];
  const probes = [...new Map(results.map((result) => [result.probe, result])).values()];
  const at = (probe, isolation) => results.find((result) => result.probe === probe && result.isolation === isolation);
  const head = ['probe', 'the worker', ...isolations.map((isolation) => `${driver}, ${isolation}`)];
  const rows = probes.map(({ probe, says }) => [
    `\`${probe}\``,
    cell(says),
    ...isolations.map((isolation) => {
      const result = at(probe, isolation);
      if (result === undefined) return '';
      return result.verdict === 'held' ? 'held' : `**${WORDS[result.verdict]}**: ${cell(result.happened)}`;
    }),
  ]);
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
