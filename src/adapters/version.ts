/** Reading `--version`: is this the program we mean, does it start here, is it new enough? */
import type { AdapterProbe, ProbeOutput } from '../model/adapter.ts';
import { ok } from '../model/result.ts';
import { incompatible } from './argv.ts';
import { refusalLine } from './bounded-text.ts';

export interface VersionRule {
  /** The product's name for people. */
  readonly product: string;
  /** Matches one whole line of either stream; group 1 is the version. */
  readonly line: RegExp;
  readonly floor?: readonly [number, number, number];
  /** What to do where it is another program. */
  readonly cure: string;
}

const numbers = (version: string): readonly number[] =>
  (/^\d+(?:\.\d+)*/.exec(version)?.[0] ?? '').split('.').map(Number);

/** True where `version` is older than `floor`; a pre-release counts as older than its release. */
export function isOlder(version: string, floor: readonly number[]): boolean {
  const found = numbers(version);
  for (const [i, wanted] of floor.entries()) {
    const part = found[i] ?? 0;
    if (part !== wanted) return part < wanted;
  }
  return /^\d+(?:\.\d+)*-/.test(version);
}

/** The line of a crash that says why: node prints the error after the place and the source. */
function complaint({ stdout, stderr }: ProbeOutput): string {
  const lines = `${stderr}\n${stdout}`.split('\n').map((line) => line.trim());
  return refusalLine(
    lines.find((line) => /^\w*Error\b.*:/.test(line) || /requires? node/i.test(line)) ??
      lines.find((line) => line !== '') ??
      '',
  );
}

/** How a program dies, or says it, on a Node that is too old for it. */
const NEWER_NODE =
  /^SyntaxError\b|^TypeError\b.* is not a function|requires? node(?:\.js)? ?(?:v|version )?[>=≥]*\s*\d/i;
const BROKEN_INSTALLATION = /ERR_MODULE_NOT_FOUND|^Error: Cannot find (?:module|package)/;

export const readVersionBy =
  (rule: VersionRule): AdapterProbe['readVersion'] =>
  (output) => {
    const said = complaint(output);
    if (output.code === null) {
      return incompatible(`\`--version\` of ${rule.product} did not end by itself. Run it once by hand.`);
    }
    if (output.code !== 0 && NEWER_NODE.test(said)) {
      return incompatible(
        `${rule.product} cannot start on this Node: ${said}. Install the newer Node that it asks for.`,
      );
    }
    if (output.code !== 0 && BROKEN_INSTALLATION.test(said)) {
      return incompatible(`${rule.product} cannot start: ${said}. Its installation is broken: install it again.`);
    }
    const lines = `${output.stdout}\n${output.stderr}`.split(/\r?\n/);
    const version = lines.map((line) => rule.line.exec(line.trim())?.[1]).find((found) => found !== undefined);
    if (output.code !== 0 || version === undefined) {
      const what = output.code === 0 ? 'answered' : `exited with ${output.code} and said`;
      return incompatible(`This is not ${rule.product}: \`--version\` ${what} ${JSON.stringify(said)}. ${rule.cure}`);
    }
    if (rule.floor !== undefined && isOlder(version, rule.floor)) {
      return incompatible(`${rule.product} ${version} is too old. Update it to ${rule.floor.join('.')} or newer.`);
    }
    return ok(version);
  };
