/**
 * The bounded answer. A caller with a small budget gets the verdict whatever happens, then where the receipt is, then what
 * it needs to act (transport, permission), then the reasons, and the long tail of words and paths last. The text is
 * at most `limit` bytes with its newline, always JSON, always valid against its schema.
 */
import type { Receipt } from '../model/receipt.ts';
import type { FittedSummary, Summary } from '../model/summary.ts';
import { printableJson } from './neutralise.ts';

/**
 * A summary in full of a finished run. `receiptPath` is null where the receipt could not be written; `next`: commands that
 * lead to the work.
 */
export function summarise(receipt: Receipt, receiptPath: string | null, next: readonly string[]): Summary {
  const told = receipt.attempts.find(({ transport }) => transport !== null) ?? receipt.attempts.at(-1);
  return {
    schema: 'agent-exec-summary/v1',
    outcome: receipt.outcome,
    exit_code: receipt.exit_code,
    reason: receipt.reason,
    run_id: receipt.run_id,
    receipt: receiptPath,
    role: receipt.role,
    unit_id: receipt.unit.unit_id,
    attempts: receipt.attempts.map(({ attempt_id, state, code }) => ({ attempt_id, state, code })),
    transport: told?.transport ? { ref: told.transport.ref, commit: told.transport.commit } : null,
    quarantine: receipt.attempts.flatMap(({ quarantine }) => (quarantine === null ? [] : [quarantine.ref])),
    retained: receipt.attempts.flatMap(({ cleanup }) => cleanup.retained_path ?? []),
    next: [...next],
    change_count: told?.change_count ?? 0,
    changed_paths: told?.changes.map(({ path }) => path) ?? [],
    truncated: told?.changes_truncated ?? false,
    telemetry_logged: receipt.telemetry.logged,
    worker_result: told?.worker_result ?? null,
    host_fallback: receipt.host_fallback,
  };
}

/** The order in which fields stand in the text. */
const FIELDS = [
  'schema',
  'outcome',
  'exit_code',
  'reason',
  'run_id',
  'receipt',
  'role',
  'unit_id',
  'attempts',
  'transport',
  'quarantine',
  'retained',
  'next',
  'change_count',
  'changed_paths',
  'truncated',
  'telemetry_logged',
  'worker_result',
  'host_fallback',
] as const satisfies readonly (keyof Summary)[];

function render(summary: FittedSummary): string {
  return `${printableJson(Object.fromEntries(FIELDS.filter((name) => name in summary).map((name) => [name, summary[name]])))}\n`;
}
const sizeOf = (text: string): number => Buffer.byteLength(text, 'utf8');
const jsonSize = (value: unknown): number => sizeOf(printableJson(value));

/** Takes what fits into a bound, piece by piece; a piece that does not fit changes nothing. */
class Fitting {
  #taken: FittedSummary;
  readonly #limit: number;

  constructor(start: FittedSummary, limit: number) {
    this.#taken = start;
    this.#limit = limit;
  }

  get text(): string {
    return render(this.#taken);
  }

  has(name: keyof Summary): boolean {
    return name in this.#taken;
  }

  take(piece: Partial<FittedSummary>): boolean {
    const next = { ...this.#taken, ...piece };
    if (sizeOf(render(next)) > this.#limit) return false;
    this.#taken = next;
    return true;
  }

  /** Bytes that are free once `piece` is in. */
  roomAfter(piece: Partial<FittedSummary>): number {
    return this.#limit - sizeOf(render({ ...this.#taken, ...piece }));
  }

  /** As many items from the front (or the back) as fit; none: the field stays out, since an empty list says that there are none. */
  takeList<K extends 'attempts' | 'retained' | 'quarantine' | 'next' | 'changed_paths'>(
    name: K,
    items: Summary[K],
    from: 'front' | 'back',
  ): void {
    let room = this.roomAfter({ [name]: [] });
    let count = 0;
    while (count < items.length) {
      const item = items[from === 'front' ? count : items.length - 1 - count];
      room -= jsonSize(item) + (count === 0 ? 0 : 1);
      if (room < 0) break;
      count++;
    }
    if (count > 0) this.take({ [name]: from === 'front' ? items.slice(0, count) : items.slice(items.length - count) });
  }

  /** As much of the message as fits, at most `most` bytes. */
  takeMessage(reason: Summary['reason'], most: number): void {
    const room = Math.min(most, this.roomAfter({ reason: { ...reason, message: '' } }));
    const message = cutToJson(reason.message, room);
    if (message !== '') this.take({ reason: { ...reason, message } });
  }
}

/** The beginning of `text` whose JSON form, without quotes, takes at most `limit` bytes. */
function cutToJson(text: string, limit: number): string {
  if (text.length <= limit && jsonSize(text) - 2 <= limit) return text;
  let used = 3;
  let cut = '';
  for (const char of text) {
    used += jsonSize(char) - 2;
    if (used > limit) break;
    cut += char;
  }
  return cut === '' ? '' : `${cut}…`;
}

/** A first share of the message, so that a long one does not push out everything else. */
const FIRST_WORDS = 160;

/**
 * `full` as one line of JSON, at most `limit` bytes with its newline. `limit` is at least 256, for which the verdict with
 * a run id of this tool always fits.
 */
export function fitSummary(full: Summary, limit: number): string {
  const whole = render(full);
  if (sizeOf(whole) <= limit) return whole;

  const { schema, outcome, exit_code, reason } = full;
  const fitting = new Fitting(
    { schema, outcome, exit_code, reason: { ...reason, message: '' }, run_id: null, truncated: true },
    limit,
  );
  fitting.take({ run_id: full.run_id });
  // The receipt has everything, so it is worth most, unless its own path is the whole answer.
  if (full.receipt !== null && jsonSize(full.receipt) <= limit / 2) fitting.take({ receipt: full.receipt });
  if (full.transport !== null) fitting.take({ transport: full.transport });
  if (full.host_fallback !== null) {
    fitting.take({ host_fallback: { ...full.host_fallback, allowed_paths: [], evidence: [] } });
  }
  if (full.receipt !== null && !fitting.has('receipt')) fitting.take({ receipt: full.receipt });
  fitting.takeMessage(reason, FIRST_WORDS);
  fitting.takeList('attempts', full.attempts, 'back');
  fitting.takeList('retained', full.retained, 'front');
  fitting.takeList('quarantine', full.quarantine, 'back');
  fitting.takeList('next', full.next, 'front');
  fitting.take({ change_count: full.change_count });
  for (const name of ['unit_id', 'role', 'telemetry_logged'] as const) fitting.take({ [name]: full[name] });
  for (const name of ['transport', 'host_fallback', 'receipt', 'worker_result'] as const) {
    if (full[name] === null) fitting.take({ [name]: null });
  }
  for (const name of ['attempts', 'retained', 'quarantine', 'next', 'changed_paths'] as const) {
    if (full[name].length === 0) fitting.take({ [name]: [] });
  }
  fitting.takeMessage(reason, limit);
  if (full.host_fallback !== null) fitting.take({ host_fallback: full.host_fallback });
  if (full.worker_result !== null) fitting.take({ worker_result: full.worker_result });
  fitting.takeList('changed_paths', full.changed_paths, 'front');
  return fitting.text;
}
