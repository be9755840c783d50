/** The table of a whole run: a line for each scenario, a column for each CLI, in a cell the state and code of the attempt. */

const SHORT_STATE = {
  success: '',
  unavailable: 'un ',
  'failed-clean': 'fc ',
  'failed-unknown': 'fu ',
  'scope-expansion': 'se ',
};
const LEGEND = 'un: unavailable, fc: failed-clean, fu: failed-unknown, se: scope-expansion';

const cellOf = (ending) =>
  ending.replace(
    /(^|, |FAIL )(success|unavailable|failed-clean|failed-unknown|scope-expansion) /g,
    (_, before, state) => `${before}${SHORT_STATE[state]}`,
  );

/**
 * @param {readonly string[]} scenarios
 * @param {readonly string[]} clis
 * @param {ReadonlyMap<string, string>} endings by "cli scenario"; pairs that were not played are left out
 * @returns {string}
 */
export function tableText(scenarios, clis, endings) {
  const played = (cli, scenario) => endings.get(`${cli} ${scenario}`);
  const columns = clis.filter((cli) => scenarios.some((scenario) => played(cli, scenario) !== undefined));
  const rows = scenarios.filter((scenario) => columns.some((cli) => played(cli, scenario) !== undefined));
  const lines = [
    ['', ...columns],
    ...rows.map((scenario) => [scenario, ...columns.map((cli) => cellOf(played(cli, scenario) ?? '-'))]),
  ];
  const widths = [0, ...columns.map((_, index) => index + 1)].map((column) =>
    Math.max(...lines.map((line) => line[column].length)),
  );
  const text = lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  );
  return [...text, LEGEND].join('\n');
}
