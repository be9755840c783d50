/**
 * Which declared delegations count: only those that went through this tool, and whose run is that of a verified receipt
 * of the same role and unit. A declaration is somebody's word; everything that is not exactly that is rejected, with a
 * code and the reason.
 */
import type { Receipt } from '../model/receipt.ts';
import type { CheckName, DelegationCode, JudgedDelegation } from '../model/receipt-verify.ts';
import type { Result } from '../model/result.ts';
import { kindOfJson } from '../model/strict-json.ts';
import { shownText } from './check.ts';

/** One declaration as it stands in its file. */
export interface Declaration {
  /** `declaration 2`. */
  readonly position: string;
  /** 1-based. */
  readonly line: number;
  readonly column: number;
  /** The JSON value; or why there is none of which every reader sees the same. */
  readonly said: Result<unknown, string>;
}

/** A receipt that was judged, and what was found. */
export interface JudgedReceipt {
  readonly runId: string;
  /** Null where it is no receipt, although it names a run. */
  readonly receipt: Receipt | null;
  readonly failed: readonly CheckName[];
}

interface Judging {
  readonly given: readonly JudgedReceipt[];
  /** Receipts that nobody gave, of runs that are on this machine: they say why a declaration is rejected, and no more. */
  readonly kept: readonly JudgedReceipt[];
  /** Whether the host said which units it means: then a run of none of them is one of another unit. */
  readonly unitsGiven: boolean;
  /** By run, the declaration that has counted it. */
  readonly counted: Map<string, string>;
}

interface Verdict {
  readonly code: DelegationCode;
  readonly reason: string;
}

/** Every declaration with its verdict, in their order. A run counts once. */
export function judgeDelegations(
  declarations: readonly Declaration[],
  given: readonly JudgedReceipt[],
  kept: readonly JudgedReceipt[],
  unitsGiven: boolean,
): readonly JudgedDelegation[] {
  const judging: Judging = { given, kept, unitsGiven, counted: new Map() };
  return declarations.map((declaration) => {
    const { position, line, column, said } = declaration;
    const runId = declaredRun(declaration);
    const { code, reason } = said.ok
      ? judge(said.value, judging)
      : rejected('NOT_A_DECLARATION', `it cannot be read: ${said.error}`);
    if (code === 'OK' && runId !== null) judging.counted.set(runId, position);
    return {
      position,
      line,
      column,
      run_id: runId === null ? null : shownText(runId),
      counts: code === 'OK',
      code,
      reason: shownText(reason),
    };
  });
}

/** The run that it names; null where it names none. */
export function declaredRun({ said }: Declaration): string | null {
  const named = said.ok && isObject(said.value) ? own(said.value, 'run_id') : null;
  return typeof named === 'string' ? named : null;
}

const rejected = (code: DelegationCode, reason: string): Verdict => ({ code, reason });

type Members = { readonly [name: string]: unknown };
const isObject = (value: unknown): value is Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
const own = (value: Members, name: string): unknown => (Object.hasOwn(value, name) ? value[name] : undefined);

const quoted = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 80);

function judge(value: unknown, judging: Judging): Verdict {
  if (typeof value === 'string') return rejected('BARE_ROLE', `a bare ${quoted(value)} says nothing of a run`);
  if (!isObject(value)) return rejected('NOT_A_DECLARATION', `it is ${kindOfJson(value)}, not an object`);
  const transport = transportProblem(value);
  if (transport !== null) return transport;
  const runId = own(value, 'run_id');
  if (runId === undefined) return rejected('RUN_ID_MISSING', 'it has no run_id');
  if (typeof runId !== 'string') return rejected('RUN_ID_MISSING', `its run_id is ${kindOfJson(runId)}, not a text`);
  const found = receiptOfRun(runId, judging);
  if ('code' in found) return found;
  const mismatch = otherWork(value, found);
  if (mismatch !== null) return mismatch;
  const before = judging.counted.get(runId);
  return before === undefined
    ? { code: 'OK', reason: 'it is the run of a verified receipt' }
    : rejected('COUNTED_TWICE', `${before} has counted that run already, and a run is one delegation`);
}

/** Members by which somebody says that the work went another way. */
const OTHER_WAYS = { script: 'a script', command: 'a command', argv: 'argv' } as const;
/** A path, a file name with an extension, or a command line. */
const LIKE_A_SCRIPT = /[\s/\\]|\.\w+$/;

function transportProblem(value: Members): Verdict | null {
  const transport = own(value, 'transport');
  const other = Object.entries(OTHER_WAYS).find(([name]) => Object.hasOwn(value, name));
  if (other !== undefined) return rejected('OTHER_SCRIPT', `it names ${other[1]}, and a run of agent-exec needs none`);
  if (transport === undefined) {
    return own(value, 'run_id') === undefined
      ? rejected('BARE_ROLE', 'it has no transport, which must be "agent-exec", and no run_id: that is a bare role')
      : rejected('TRANSPORT_MISSING', 'it has no transport, which must be "agent-exec"');
  }
  if (typeof transport !== 'string')
    return rejected('TRANSPORT_NOT_TEXT', `its transport is ${kindOfJson(transport)}, not the text "agent-exec"`);
  if (transport === 'agent-exec') return null;
  const what = `its transport is ${quoted(transport)}`;
  return LIKE_A_SCRIPT.test(transport.trim())
    ? rejected('OTHER_SCRIPT', `${what}, a script or command, and only "agent-exec" counts`)
    : rejected('WRONG_TRANSPORT', `${what}, and only "agent-exec" counts`);
}

/** The one verified receipt of the run. */
function receiptOfRun(runId: string, { given, kept, unitsGiven }: Judging): Receipt | Verdict {
  const seen = given.filter((one) => one.runId === runId);
  const [first] = seen;
  if (first === undefined) {
    const known = kept.find((one) => one.runId === runId);
    return known === undefined
      ? rejected('UNKNOWN_RUN', `run_id ${quoted(runId)} is the run of no receipt given here`)
      : notGiven(known, given);
  }
  const failed = [...new Set(seen.flatMap((one) => one.failed))];
  if (unitsGiven && failed.length === 1 && failed[0] === 'unit')
    return rejected('OTHER_UNIT', 'the unit of that run is none of the packets given with --unit');
  if (failed.length > 0 || first.receipt === null)
    return rejected('UNVERIFIED_RECEIPT', `the receipt of that run is not valid (${failed.join(', ')})`);
  if (seen.some(({ receipt }) => receipt?.digest !== first.receipt?.digest))
    return rejected('UNVERIFIED_RECEIPT', 'receipts of that run were given that differ from each other');
  return first.receipt;
}

/** A run can be known and still not count: whoever verifies says by the receipts given which runs are meant. */
function notGiven({ receipt, failed }: JudgedReceipt, given: readonly JudgedReceipt[]): Verdict {
  if (receipt === null || failed.length > 0) {
    const why = 'the receipt of that run was not given, and the one kept on this machine is not valid';
    return rejected('UNVERIFIED_RECEIPT', `${why} (${failed.join(', ')})`);
  }
  const units = given.flatMap((one) => (one.receipt === null ? [] : [one.receipt.unit.digest]));
  return units.length === 0 || units.includes(receipt.unit.digest)
    ? rejected('RECEIPT_NOT_GIVEN', 'the receipt of that run was not given here; give it too')
    : rejected('OTHER_UNIT', `that run was of another unit (${receipt.unit.unit_id}) than the receipts given here`);
}

function otherWork(value: Members, { role, unit }: Receipt): Verdict | null {
  const declared = own(value, 'role');
  if (declared === undefined) return rejected('ROLE_MISSING', `it has no role, and the run was one of ${role}`);
  if (declared !== role)
    return rejected('OTHER_ROLE', `its role is ${quoted(declared)}, and the run was one of ${role}`);
  const unitId = own(value, 'unit_id');
  return unitId === undefined || unitId === unit.unit_id
    ? null
    : rejected('OTHER_UNIT', `its unit_id is ${quoted(unitId)}, and the run's unit is ${unit.unit_id}`);
}
