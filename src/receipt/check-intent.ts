/** What was asked for, against the configuration and the packet as they can still be found. */
import type { PlanRecord } from '../model/plan-record.ts';
import type { Receipt } from '../model/receipt.ts';
import type { ReceiptCheck } from '../model/receipt-verify.ts';
import type { Unit } from '../model/unit.ts';
import { judged, notChecked } from './check.ts';
import { isSameArgv } from './recorded-argv.ts';
import { REDACTED } from './redact.ts';

/** A configuration that was looked at. `where`: in words. */
export interface SeenConfig {
  readonly where: string;
  readonly digest: string;
}

/** Some configuration of the repository is the one that the run read. */
export function checkConfig({ config }: Receipt, path: string, seen: readonly SeenConfig[]): ReceiptCheck {
  if (config.path !== path) return judged('config', [`config.path is ${config.path}, and it is always ${path}`], '');
  const match = seen.find(({ digest }) => digest === config.digest);
  const tried = seen.map(({ where, digest }) => `${where} is ${digest}`).join('; ');
  const problem = `config.digest ${config.digest} is of no ${path} here (${tried === '' ? 'there is none' : tried})`;
  return judged('config', match === undefined ? [problem] : [], `its digest is that of ${path} in ${match?.where}`);
}

/** A unit that may be the one. `where`: in words. */
export interface SeenUnit {
  readonly where: string;
  readonly unit: Unit;
  readonly digest: string;
}

/** `given`: packets that were handed over, null where none was; `planned`: the run's own plan, where it is still there. */
export function checkUnit(
  receipt: Receipt,
  given: readonly SeenUnit[] | null,
  planned: { readonly record: PlanRecord; readonly digest: string } | null,
): ReceiptCheck {
  const { digest } = receipt.unit;
  if (given !== null) {
    const match = given.find((one) => one.digest === digest);
    if (match === undefined)
      return judged(
        'unit',
        [
          `unit.digest ${digest} is of none of the packets given (${given.map(({ where, digest: own }) => `${where} is ${own}`).join('; ')})`,
        ],
        '',
      );
    return judged(
      'unit',
      [...unitProblems(receipt, match.unit), ...verificationProblems(receipt, match.unit)],
      `its digest is that of ${match.where}`,
    );
  }
  if (planned === null)
    return notChecked(
      'unit',
      'neither the packet (--unit FILE) nor the plan of the run is here: that allowed_paths and limits are those of the packet is the word of the receipt',
    );
  const { record } = planned;
  const problems = [
    ...(planned.digest === digest
      ? []
      : [`unit.digest is ${digest}, and the unit in the plan of the run has ${planned.digest}`]),
    ...unitProblems(receipt, record.unit),
    ...verificationProblems(receipt, record.unit),
    ...planProblems(receipt, record),
  ];
  return judged('unit', problems, 'it is the unit in the plan that the run wrote down before it began');
}

function unitProblems({ unit: told }: Receipt, unit: Unit): string[] {
  const problems: string[] = [];
  for (const key of ['unit_id', 'timeout_seconds', 'network', 'external_cost'] as const)
    if (told[key] !== unit[key]) problems.push(`unit.${key} is ${told[key]}, and ${unit[key]} in the packet`);
  // A secret in a path is redacted; the number of paths stays.
  const same =
    told.allowed_paths.length === unit.allowed_paths.length &&
    told.allowed_paths.every((path, i) => path === unit.allowed_paths[i] || path.includes(REDACTED));
  if (!same)
    problems.push(
      `unit.allowed_paths are [${told.allowed_paths.join(', ')}], and [${unit.allowed_paths.join(', ')}] in the packet`,
    );
  return problems;
}

function planProblems(receipt: Receipt, record: PlanRecord): string[] {
  const pairs: readonly (readonly [what: string, told: string, planned: string])[] = [
    ['run_id', receipt.run_id, record.run_id],
    ['plan_digest', receipt.plan_digest, record.plan_digest],
    ['config.digest', receipt.config.digest, record.config.digest],
    ['role', receipt.role, record.role.name],
    ['repository.base', receipt.repository.base, record.base],
    ['repository.head', receipt.repository.head, record.repository.head],
    ['repository.head_ref', receipt.repository.head_ref ?? 'null', record.repository.headRef ?? 'null'],
    ['started_at', receipt.started_at, record.started_at],
    ['candidates', receipt.candidates.join(', '), record.candidates.map(({ profile }) => profile).join(', ')],
    ['telemetry.path', receipt.telemetry.path, record.telemetry_path],
  ];
  return pairs.flatMap(([what, told, planned]) =>
    told === planned || told.includes(REDACTED) ? [] : [`${what} is ${told}, and ${planned} in the plan of the run`],
  );
}

/** What was verified is what the packet asks for, all of it in its order. */
const verificationProblems = ({ attempts }: Receipt, { verification: wanted }: Unit): string[] =>
  attempts.flatMap(({ attempt_id: id, verification: told, state }) =>
    state !== 'success' ||
    told.length === 0 ||
    (told.length === wanted.length && told.every(({ argv }, i) => isSameArgv(argv, wanted[i])))
      ? []
      : [`${id}: its verification commands are not those of the packet`],
  );
