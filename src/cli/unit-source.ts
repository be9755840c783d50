/** Where a run's unit comes from: a packet, inline flags, or a milestone of a ledger. Exactly one, and never two at once. */
import { resolve } from 'node:path';
import { err, ok, type Result } from '../model/result.ts';
import { readRegularFile } from '../run/config-file.ts';
import type { UnitSource } from '../run/prepare.ts';
import type { CliIo } from './io.ts';
import type { Explained } from './problems.ts';
import { whyUnreadable } from './unreadable-file.ts';

/** The flags of `run` that say what the unit is. */
export interface UnitOptions {
  readonly unit?: string;
  readonly ledger?: string;
  readonly milestone?: string;
  readonly blocker?: string;
  readonly goal?: string;
  readonly allow?: readonly string[];
  readonly verifyCmd?: readonly string[];
  readonly constraint?: readonly string[];
  readonly timeout?: string;
  readonly unitId?: string;
}

export type UnitTrouble =
  | { readonly kind: 'usage'; readonly message: string }
  | { readonly kind: 'unreadable'; readonly explained: Explained };

const MAX_BYTES = 16 * 1024 * 1024;
const INLINE = ['goal', 'allow', 'verifyCmd', 'constraint', 'timeout', 'unitId'] as const;
const OF_LEDGER = ['ledger', 'milestone', 'blocker'] as const;
const FLAG: Record<keyof UnitOptions, string> = {
  unit: '--unit',
  ledger: '--ledger',
  milestone: '--milestone',
  blocker: '--blocker',
  goal: '--goal',
  allow: '--allow',
  verifyCmd: '--verify-cmd',
  constraint: '--constraint',
  timeout: '--timeout',
  unitId: '--unit-id',
};

const wrong = (message: string): Result<never, UnitTrouble> => err({ kind: 'usage', message });
const unreadable = (code: string, message: string): Result<never, UnitTrouble> =>
  err({ kind: 'unreadable', explained: { code, message } });

/** Reads the file that is named, if any; a usage error where the flags do not fit together. */
export async function unitSource(io: CliIo, options: UnitOptions): Promise<Result<UnitSource, UnitTrouble>> {
  const given = (names: readonly (keyof UnitOptions)[]) => names.find((name) => options[name] !== undefined);
  const packet = given(['unit']);
  const inline = given(INLINE);
  const ledger = given(OF_LEDGER);
  const [one, other] = [packet, ledger, inline].flatMap((name) => (name === undefined ? [] : [FLAG[name]]));
  if (one !== undefined && other !== undefined)
    return wrong(`${one} and ${other} exclude each other: a unit comes from a packet, a ledger, or inline flags.`);
  if (options.unit !== undefined) return readPacket(io, options.unit);
  if (ledger !== undefined) return readLedger(io, options);
  if (inline === undefined)
    return wrong(
      'give the unit with --unit FILE, with --ledger FILE --milestone ID, or with --goal TEXT --allow PATH.',
    );
  if (options.goal === undefined) return wrong('an inline unit needs --goal TEXT: what is wanted?');
  if (options.allow === undefined) return wrong('an inline unit needs --allow PATH: what may it change?');
  return ok({
    kind: 'inline',
    flags: {
      goal: options.goal,
      allow: options.allow,
      verifyCmd: options.verifyCmd ?? [],
      constraint: options.constraint ?? [],
      timeout: options.timeout,
      unitId: options.unitId,
    },
  });
}

/** The packet's bytes; a file that cannot be read is an invalid packet, whoever is to blame. */
async function readPacket(io: CliIo, name: string): Promise<Result<UnitSource, UnitTrouble>> {
  if (name === '-') {
    const bytes = await io.stdin(MAX_BYTES);
    if (bytes === null) return unreadable('UNIT_UNREADABLE', `the packet on stdin is larger than ${MAX_BYTES} bytes`);
    return ok({ kind: 'packet', file: '<stdin>', bytes });
  }
  const read = readRegularFile(resolve(io.cwd(), name), MAX_BYTES);
  if (read.ok) return ok({ kind: 'packet', file: name, bytes: read.value });
  return unreadable(
    'UNIT_UNREADABLE',
    `--unit ${name} cannot be read: ${whyUnreadable(read.error)}. Name a JSON file, or - for stdin.`,
  );
}

/** The ledger's bytes, read once and never written. The flag goes before the variable, which counts only beside --milestone. */
function readLedger(io: CliIo, options: UnitOptions): Result<UnitSource, UnitTrouble> {
  const { milestone, blocker = null } = options;
  const fromEnvironment = io.env.AGENT_EXEC_LEDGER === '' ? undefined : io.env.AGENT_EXEC_LEDGER;
  const name = options.ledger ?? fromEnvironment;
  const source = options.ledger === undefined ? 'AGENT_EXEC_LEDGER' : '--ledger';
  if (milestone === undefined) {
    return wrong(
      name === undefined
        ? '--blocker needs --ledger FILE --milestone ID: it adds to the unit of a ledger.'
        : `${source} ${name} needs --milestone ID: which unit of the ledger?`,
    );
  }
  if (name === undefined) return wrong('--milestone needs a ledger: --ledger FILE, or AGENT_EXEC_LEDGER.');
  const path = resolve(io.cwd(), name);
  const read = readRegularFile(path, MAX_BYTES);
  if (read.ok) return ok({ kind: 'ledger', file: name, path, bytes: read.value, milestone, blocker });
  return unreadable(
    'LEDGER_UNREADABLE',
    `${source} ${name} cannot be read: ${whyUnreadable(read.error)}. Name a JSON or JSON Lines file.`,
  );
}
