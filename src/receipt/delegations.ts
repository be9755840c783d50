/**
 * Which declared delegations count: only those that went through this tool, and whose run is one of the verified receipts.
 * A declaration is somebody's word; everything that is not exactly that is rejected, with its place and the reason.
 */
import type { Receipt } from '../model/receipt.ts';
import type { JudgedDelegation } from '../model/receipt-verify.ts';
import { err, ok, type Result } from '../model/result.ts';
import { shownText } from './check.ts';
import { readStrictJson, utf8Text } from './strict-json.ts';

/** Beyond it nobody has declared anything by hand. */
const MAX_ENTRIES = 10_000;

/** One declaration as it stands in the file; `problem`: why it cannot even be read. */
interface Declared {
  readonly position: string;
  readonly value: unknown;
  readonly problem: string | null;
}

/**
 * One JSON value (a list, an object with a list `delegations`, or one declaration), or JSON Lines. The error says why
 * nothing of it can be read.
 */
function declaredIn(bytes: Uint8Array): Result<readonly Declared[], string> {
  const text = utf8Text(bytes);
  if (!text.ok) return err(text.error.message);
  const whole = readStrictJson(text.value);
  if (whole.ok) return ok(entriesOf(whole.value));
  if (whole.error.kind === 'too-many-values') return err(whole.error.message);
  if (whole.error.kind === 'duplicate-member')
    return ok([{ position: 'the file', value: null, problem: whole.error.message }]);
  const lines = text.value.split('\n').map((line, i) => ({ line, position: `line ${i + 1}` }));
  const read = lines
    .filter(({ line }) => line.trim() !== '')
    .map(({ line, position }) => {
      const parsed = readStrictJson(line);
      return { position, value: parsed.ok ? parsed.value : null, problem: parsed.ok ? null : parsed.error.message };
    });
  if (read.length < 2 || read.every(({ problem }) => problem !== null)) return err('neither JSON nor JSON Lines');
  return ok(read);
}

function entriesOf(value: unknown): readonly Declared[] {
  const list = Array.isArray(value)
    ? value
    : isObject(value) && Array.isArray(value.delegations)
      ? value.delegations
      : [value];
  return list.map((one: unknown, i) => ({ position: `entry ${i + 1}`, value: one, problem: null }));
}

type Members = { readonly [name: string]: unknown };
const isObject = (value: unknown): value is Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
const own = (value: Members, name: string): unknown => (Object.hasOwn(value, name) ? value[name] : undefined);

/** Members by which somebody says that the work went another way. */
const OTHER_WAYS = ['script', 'command', 'argv'] as const;
const kindOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
const quoted = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 80);

/** Why a declaration does not count; null where it does. */
function refusal(
  value: unknown,
  verified: ReadonlyMap<string, Receipt>,
  counted: ReadonlyMap<string, string>,
): string | null {
  if (typeof value === 'string') return `a bare ${quoted(value)} says nothing of a run`;
  if (!isObject(value)) return `it is ${kindOf(value)}, not an object`;
  const transport = own(value, 'transport');
  if (transport === undefined) return 'it has no transport, which must be "agent-exec"';
  if (typeof transport !== 'string') return `its transport is ${kindOf(transport)}, not the text "agent-exec"`;
  if (transport !== 'agent-exec') return `its transport is ${quoted(transport)}, and only "agent-exec" counts`;
  const other = OTHER_WAYS.find((name) => Object.hasOwn(value, name));
  if (other !== undefined) return `it names a ${other}, and a run of agent-exec needs none`;
  const runId = own(value, 'run_id');
  if (runId === undefined) return 'it has no run_id';
  if (typeof runId !== 'string') return `its run_id is ${kindOf(runId)}, not a text`;
  const receipt = verified.get(runId);
  if (receipt === undefined) return `run_id ${quoted(runId)} is of no receipt that was verified here and found valid`;
  const role = own(value, 'role');
  if (role !== undefined && role !== receipt.role)
    return `its role is ${quoted(role)}, and the run was one of ${receipt.role}`;
  const unitId = own(value, 'unit_id');
  if (unitId !== undefined && unitId !== receipt.unit.unit_id)
    return `its unit_id is ${quoted(unitId)}, and the run's unit is ${receipt.unit.unit_id}`;
  const before = counted.get(runId);
  return before === undefined ? null : `${before} has counted that run already, and a run is one delegation`;
}

/** Every declaration with its verdict, in their order; `receipts`: those that were found valid. */
export function judgeDelegations(
  bytes: Uint8Array,
  receipts: readonly Receipt[],
): Result<readonly JudgedDelegation[], string> {
  const declared = declaredIn(bytes);
  if (!declared.ok) return declared;
  if (declared.value.length > MAX_ENTRIES)
    return err(`${declared.value.length} declarations, more than ${MAX_ENTRIES}`);
  const verified = new Map(receipts.map((receipt) => [receipt.run_id, receipt]));
  const counted = new Map<string, string>();
  const judgedAll = declared.value.map(({ position, value, problem }) => {
    const reason = problem ?? refusal(value, verified, counted);
    const named = isObject(value) ? own(value, 'run_id') : null;
    const runId = typeof named === 'string' ? named : null;
    if (reason === null && runId !== null) counted.set(runId, position);
    return {
      position,
      run_id: runId === null ? null : shownText(runId),
      counts: reason === null,
      reason: shownText(reason ?? 'it is the run of a verified receipt'),
    };
  });
  return ok(judgedAll);
}
