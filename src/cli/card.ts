/**
 * A run as a card for a task or a pull request: the same receipt gives the same bytes. Every fact is marked with where it
 * comes from; of a receipt whose digest does not hold, nothing is taken for enforced.
 */
import type { Policy, Role } from '../model/config.ts';
import type { AttemptRecord, Receipt } from '../model/receipt.ts';
import { type CardLabels, LABELS, type Language, type Provenance } from './card-labels.ts';
import { codeSpan, NOTHING, table } from './markdown.ts';

interface Fact {
  readonly label: string;
  /** Markdown. */
  readonly value: string;
  readonly from: Provenance;
}

/** What a card says of one candidate; Markdown, but for `attempt`. */
interface CandidateRow {
  readonly attempt: string;
  readonly cli: string;
  readonly version: string;
  readonly requested: string;
  readonly resolved: string;
  readonly reported: string;
  readonly isolation: string;
  readonly state: string;
  readonly code: string;
}

const SHOWN = 12;

/** Code spans with a separator; how many more there are behind the first. */
function spans(texts: readonly string[], labels: CardLabels, separator = ', '): string {
  const shown = texts.slice(0, SHOWN).map(codeSpan);
  const more = texts.length - shown.length;
  return [...shown, ...(more > 0 ? [labels.more(more)] : [])].join(separator) || labels.none;
}

const attemptIdOf = (index: number, profile: string): string => `${String(index + 1).padStart(2, '0')}-${profile}`;

/** A card of a finished run. `path`: where its receipt is; `holds`: whether its digest does. */
export function receiptCard(receipt: Receipt, path: string, holds: boolean, language: Language): string {
  const labels = LABELS[language];
  const rows = receipt.candidates.map((profile, i) =>
    candidateRow(receipt.attempts[i], attemptIdOf(i, profile), labels),
  );
  const heading = `### ${labels.title}: ${codeSpan(receipt.outcome)}`;
  const lines = render({ heading, facts: factsOf(receipt, path, labels), rows, holds, labels });
  return holds ? lines : `> **${labels.digestBroken}**\n\n${lines}`;
}

/** A card of a run that is still to come: what the configuration says of a role, and every attempt NOT_RUN. */
export function newCard(
  config: { readonly path: string; readonly digest: string; readonly policy: Policy; readonly role: Role },
  language: Language,
): string {
  const labels = LABELS[language];
  const { policy, role } = config;
  const facts: Fact[] = [
    { label: labels.outcome, value: codeSpan(labels.notRun), from: 'gate' },
    { label: labels.role, value: codeSpan(role.name), from: 'enforced' },
    { label: labels.config, value: `${codeSpan(config.path)} ${codeSpan(config.digest)}`, from: 'enforced' },
    { label: labels.candidateOrder, value: spans(role.candidates, labels, ' → '), from: 'enforced' },
    { label: labels.transport, value: labels.none, from: 'gate' },
    {
      label: labels.hostFallback,
      value: `${labels.notAuthorised} (${codeSpan(policy.execution.fallback_to_host)})`,
      from: 'enforced',
    },
    { label: labels.receipt, value: labels.receiptLater, from: 'gate' },
    { label: labels.review, value: labels.reviewGate, from: 'gate' },
  ];
  const rows = role.candidates.map((name, i): CandidateRow => {
    const profile = Object.hasOwn(policy.profiles, name) ? policy.profiles[name] : undefined;
    const model = profile?.model;
    const wanted =
      typeof model === 'object' ? `${model.family} (${model.effort})` : model === 'auto' ? null : (model ?? null);
    return {
      ...candidateRow(undefined, attemptIdOf(i, name), labels),
      cli: cliWords(profile?.adapter ?? name, profile?.executable ?? null),
      requested: wanted === null ? labels.cliChoice : codeSpan(wanted),
    };
  });
  return render({ heading: `### ${labels.newTitle}`, facts, rows, holds: true, labels });
}

function factsOf(receipt: Receipt, path: string, labels: CardLabels): Fact[] {
  const { unit, attempts, host_fallback: fallback, config } = receipt;
  const fact = (label: string, value: string, from: Provenance = 'enforced'): Fact => ({ label, value, from });
  const success = attempts.find(({ state }) => state === 'success');
  const transport = success?.transport ?? null;
  return [
    fact(labels.run, codeSpan(receipt.run_id)),
    fact(labels.outcome, `${codeSpan(receipt.outcome)}, ${labels.exitCode(receipt.exit_code)}`),
    fact(labels.reason, codeSpan(receipt.reason.code)),
    fact(labels.role, codeSpan(receipt.role)),
    fact(labels.unit, `${codeSpan(unit.unit_id)} ${codeSpan(unit.digest)}`),
    fact(labels.allowedPaths, spans(unit.allowed_paths, labels)),
    fact(labels.base, codeSpan(receipt.repository.base)),
    fact(labels.config, `${codeSpan(config.path)} ${codeSpan(config.digest)}`),
    fact(labels.candidateOrder, spans(receipt.candidates, labels, ' → ')),
    fact(
      labels.transport,
      transport === null ? labels.none : `${codeSpan(transport.commit)} ${codeSpan(transport.ref)}`,
    ),
    ...(success === undefined ? [] : [fact(labels.changes, changeWords(success, labels))]),
    ...attempts.flatMap(({ quarantine }) =>
      quarantine === null ? [] : [fact(labels.quarantine, codeSpan(quarantine.ref))],
    ),
    ...(transport === null ? [] : [verificationFact(success?.verification ?? [], labels)]),
    ...attempts.flatMap(({ worker_result: result }) => resultFact(result, labels)),
    ...(attempts.some(({ process_started, isolation }) => process_started && isolation.network === 'declared')
      ? [fact(labels.networkByWord, labels.networkGate, 'gate')]
      : []),
    fact(labels.hostFallback, fallback === null ? labels.notAuthorised : labels.authorised),
    ...(fallback === null ? [] : [fact(labels.hostFallback, labels.hostWithinScope, 'gate')]),
    fact(labels.receipt, codeSpan(path)),
    fact(labels.receiptDigest, codeSpan(receipt.digest)),
    fact(labels.genuine, labels.genuineGate, 'gate'),
    fact(labels.review, labels.reviewGate, 'gate'),
  ];
}

const changeWords = ({ changes, change_count: count }: AttemptRecord, labels: CardLabels): string =>
  labels.changeCount(count, changes.filter(({ in_scope: inScope }) => !inScope).length);

/** What agent-exec did not run, somebody still has to. */
function verificationFact(commands: AttemptRecord['verification'], labels: CardLabels): Fact {
  if (commands.length === 0) return { label: labels.verification, value: labels.notVerified, from: 'gate' };
  const shown = commands
    .slice(0, SHOWN)
    .map(({ argv, ok }) => `${codeSpan(argv.join(' '))} ${ok ? labels.passed : labels.failed}`);
  const more = commands.length - shown.length;
  const value = [...shown, ...(more > 0 ? [labels.more(more)] : [])].join('; ');
  return { label: labels.verification, value, from: 'enforced' };
}

function resultFact(result: unknown, labels: CardLabels): Fact[] {
  const status = result !== null && typeof result === 'object' && 'STATUS' in result ? result.STATUS : null;
  return typeof status === 'string'
    ? [{ label: labels.workerResult, value: codeSpan(status), from: 'self-reported' }]
    : [];
}

function cliWords(adapter: string, executable: string | null): string {
  return executable === null ? codeSpan(adapter) : `${codeSpan(adapter)} ${codeSpan(executable)}`;
}

/** `attempt` undefined: it was never made. */
function candidateRow(attempt: AttemptRecord | undefined, id: string, labels: CardLabels): CandidateRow {
  if (attempt === undefined) {
    const blank = { cli: NOTHING, version: NOTHING, requested: NOTHING, resolved: NOTHING, reported: NOTHING };
    return { attempt: id, ...blank, isolation: NOTHING, state: codeSpan(labels.notRun), code: NOTHING };
  }
  const { model, probe, isolation } = attempt;
  return {
    attempt: attempt.attempt_id,
    cli: cliWords(attempt.adapter, probe.executable),
    version: codeSpan(probe.version ?? ''),
    requested: model.requested === null ? labels.cliChoice : codeSpan(model.requested),
    resolved: codeSpan(model.resolved ?? ''),
    reported: codeSpan(model.reported ?? ''),
    isolation: attempt.process_started ? codeSpan(isolation.level) : NOTHING,
    state: codeSpan(attempt.state),
    code: codeSpan(attempt.code),
  };
}

function render(card: {
  readonly heading: string;
  readonly facts: readonly Fact[];
  readonly rows: readonly CandidateRow[];
  readonly holds: boolean;
  readonly labels: CardLabels;
}): string {
  const { labels, holds } = card;
  const mark = (from: Provenance): string => labels.marks[from === 'enforced' && !holds ? 'gate' : from];
  const column = (label: string, from: Provenance): string => `${label} (${mark(from)})`;
  const header = [
    labels.attempt,
    column(labels.cli, 'enforced'),
    column(labels.version, 'self-reported'),
    column(labels.modelRequested, 'enforced'),
    column(labels.modelResolved, 'enforced'),
    column(labels.modelReported, 'self-reported'),
    column(labels.isolation, 'enforced'),
    column(labels.state, 'enforced'),
    column(labels.code, 'enforced'),
  ];
  const rows = card.rows.map((row) => [
    codeSpan(row.attempt),
    row.cli,
    row.version,
    row.requested,
    row.resolved,
    row.reported,
    row.isolation,
    row.state,
    row.code,
  ]);
  const lines = [
    card.heading,
    '',
    ...table(
      [labels.fact, labels.value, labels.provenance],
      card.facts.map(({ label, value, from }) => [label, value, mark(from)]),
    ),
    '',
    `#### ${labels.attempts}`,
    '',
    ...table(header, rows),
    '',
    labels.legend,
  ];
  return `${lines.join('\n')}\n`;
}
