/** What was found when receipts were verified, in words: for people, and as annotations of GitHub Actions. */
import { resolve } from 'node:path';
import type { Diagnostic } from '../model/diagnostic.ts';
import type {
  CARRIES,
  CheckName,
  ReceiptCheck,
  ReceiptVerification,
  VerifiedReceipt,
} from '../model/receipt-verify.ts';
import { fileFinding } from '../run/config-file.ts';
import { diagnosticsGithub } from './diagnostics.ts';
import { githubPath } from './github-path.ts';
import type { CliIo } from './io.ts';

const RESULTS: Record<ReceiptCheck['result'], string> = {
  held: 'held',
  failed: 'FAILED',
  'not-applicable': 'not applicable',
  'not-checked': 'not checked',
};
const RESULT_WIDTH = 16;
const CHECK_WIDTH = 19;

const CARRIED: Record<(typeof CARRIES)[number], string> = {
  transport: 'carried',
  'same-change': 'carried, same change',
  'same-patch': 'carried, same patch, other context',
  differs: 'NOT CARRIED',
};

const linesOf = (answer: ReceiptVerification): string[] => [
  ...answer.receipts.flatMap(receiptLines),
  ...commitLines(answer),
  ...delegationLines(answer),
  ...answer.errors.map((error) => `error: ${error}`),
  summary(answer),
];

/** Every check of every receipt, a line each; what is wrong stands below it. */
export const verificationText = (answer: ReceiptVerification): string => `${linesOf(answer).join('\n')}\n`;

function receiptLines({
  file,
  run_id: runId,
  outcome,
  role,
  unit_id: unitId,
  verdict,
  checks,
  error,
}: VerifiedReceipt): string[] {
  const about = runId === null ? [] : [`  run ${runId}: ${outcome}, role ${role}, unit ${unitId}`];
  return [
    `${file}: ${verdict === 'valid' ? 'valid' : verdict.toUpperCase()}`,
    ...about,
    ...checks.flatMap(checkLines),
    ...(error === null ? [] : [`  ${error}`]),
    '',
  ];
}

function checkLines({ check, result, message, problems }: ReceiptCheck): string[] {
  const head = `  ${RESULTS[result].padEnd(RESULT_WIDTH)}${check.padEnd(CHECK_WIDTH)}${message}`;
  return problems.length < 2
    ? [head]
    : [head, ...problems.map((problem) => `${' '.repeat(2 + RESULT_WIDTH)}- ${problem}`)];
}

function commitLines({ commit }: ReceiptVerification): string[] {
  if (commit === null) return [];
  const { commit: oid, carries, message, differences } = commit;
  return [`commit ${oid}: ${CARRIED[carries]}`, `  ${message}`, ...differences.map((one) => `  - ${one}`), ''];
}

function delegationLines({ delegations }: ReceiptVerification): string[] {
  if (delegations === null) return [];
  const { file, declared, counted, entries } = delegations;
  const lines = entries.map(
    ({ position, line, column, counts, code, reason }) =>
      `  ${(counts ? 'counts' : 'REJECTED').padEnd(9)}${file}:${line}:${column}: ${position}: ${counts ? '' : `${code}: `}${reason}`,
  );
  return [`${file}: ${counted} of ${declared} declared delegations count`, ...lines, ''];
}

function summary({ receipts, commit, delegations, ok, exit_code: code }: ReceiptVerification): string {
  const valid = receipts.filter(({ verdict }) => verdict === 'valid').length;
  const all = receipts.length === 1 ? '1 receipt' : `${receipts.length} receipts`;
  const counted = delegations === null ? '' : `, ${delegations.counted} of ${delegations.declared} delegations count`;
  const carried = commit === null ? '' : `, commit ${commit.carries === 'differs' ? 'not carried' : 'carried'}`;
  const verdict = ok ? '' : `: ${code === 3 ? 'something cannot be read' : 'not valid'}`;
  return `${all}, ${valid} valid${carried}${counted}${verdict}`;
}

const TITLES = (check: CheckName): string => `RECEIPT_${check.toUpperCase().replaceAll('-', '_')}`;

/** One annotation for each thing that is wrong, then the summary. `paths`: by name, where each receipt is. */
export function verificationGithub(
  io: CliIo,
  answer: ReceiptVerification,
  paths: ReadonlyMap<string, string | null>,
): string {
  const findings: Diagnostic[] = answer.receipts.flatMap(({ file, checks, error }) => [
    ...checks.flatMap(({ check, problems }) =>
      problems.map((problem) => fileFinding(file, TITLES(check), problem, null)),
    ),
    ...(error === null ? [] : [fileFinding(file, 'RECEIPT_UNREADABLE', error, null)]),
  ]);
  const { commit, delegations, receipts } = answer;
  if (commit?.carries === 'differs') {
    const words = [commit.message, ...commit.differences].join('\n');
    findings.push(fileFinding(receipts[0]?.file ?? '', 'COMMIT_NOT_CARRIED', words, null));
  }
  for (const { position, line, column, counts, code, reason } of delegations?.entries ?? []) {
    const finding = fileFinding(delegations?.file ?? '', `DELEGATION_${code}`, `${position}: ${reason}`, null);
    if (!counts) findings.push({ ...finding, line, column, end_line: line, end_column: column });
  }
  for (const error of answer.errors) findings.push(fileFinding(receipts[0]?.file ?? '', 'UNREADABLE', error, null));
  const pathOf = (file: string): string =>
    githubPath(io, paths.has(file) ? (paths.get(file) ?? null) : resolve(io.cwd(), file), file);
  return `${diagnosticsGithub(findings, pathOf)}${summary(answer)}\n`;
}
