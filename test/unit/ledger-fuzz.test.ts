/** Ledgers by the thousand, in both forms: what is chosen against a reader that simply parses, and any bytes at all. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Result } from '../../src/model/result.ts';
import { unitFromLedger } from '../../src/unit/ledger.ts';
import { expectShowable, runsOf } from '../config/shown.ts';
import { GOOD, isJson, LIMITS } from './sample.ts';

const read = (bytes: Uint8Array, milestone: string, blocker: string | null = null) =>
  unitFromLedger({ file: 'ledger', bytes, milestone, blocker }, LIMITS);

const id = fc.constantFrom('m1', 'm2', 'm3', '__proto__', 'constructor', '', 'é"\\', 'a\u2028b');
const unit = fc.oneof(
  fc
    .record({ goal: fc.string({ minLength: 1 }).filter((text) => text.trim() !== '' && !text.includes('\0')) })
    .map((over) => ({ ...GOOD, ...over })),
  fc.constant(GOOD),
  fc.constant({ ...GOOD, allowed_paths: ['/etc'] }),
  fc.constant({}),
);
const own = fc.dictionary(fc.constantFrom('status', 'notes', 'a', 'at'), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 });
const space = fc.constantFrom('', ' ', '\n', '\r\n', '\t');

interface Ledger {
  readonly text: string;
  /** Every unit by its milestone, in the order of the text. */
  readonly units: readonly (readonly [string, unknown])[];
  readonly form: 'document' | 'lines';
}
const member = ([key, value]: readonly [string, unknown]): string => `${JSON.stringify(key)}:${JSON.stringify(value)}`;
/** Written by hand, so that `__proto__` is a key like others and a key may be there twice. */
const document: fc.Arbitrary<Ledger> = fc
  .tuple(fc.array(fc.tuple(id, unit, own), { maxLength: 4 }), own, space)
  .map(([milestones, more, gap]) => {
    const bodies = milestones.map(([key, given, mine]) => {
      const members = [...Object.entries(mine), ['unit', given] as const].map(member);
      return `${gap}${JSON.stringify(key)}${gap}:{${members.join(`,${gap}`)}}`;
    });
    const members = [...Object.entries(more).map(member), `"milestones":${gap}{${bodies.join(',')}}`];
    return {
      text: `${gap}{${members.join(',')}}${gap}`,
      units: milestones.map(([key, given]) => [key, given]),
      form: 'document',
    };
  });
const recordLines: fc.Arbitrary<Ledger> = fc
  .tuple(
    fc.array(
      fc.oneof(
        fc.tuple(id, unit, own),
        own.map((mine) => [null, null, mine] as const),
      ),
      { minLength: 1, maxLength: 6 },
    ),
    fc.constantFrom('\n', '\r\n', '\n\n'),
    fc.boolean(),
  )
  .map(([records, newline, ended]) => {
    const written = records.map(([key, given, mine]) => {
      const members = [
        ...Object.entries(mine),
        ...(key === null ? [] : [['milestone', key] as const, ['unit', given] as const]),
      ];
      return `{${members.map(member).join(',')}}`;
    });
    const units = records.flatMap(([key, given]) => (key === null ? [] : [[key, given] as const]));
    return { text: written.join(newline) + (ended ? newline : ''), units, form: 'lines' };
  });
const ledger = fc.oneof(document, recordLines);

/** The unit, by a reader that knows what was written. */
function expected({ units, form }: Ledger, milestone: string): unknown {
  const mine = units.filter(([key]) => key === milestone);
  return form === 'document' && mine.length > 1 ? undefined : mine.at(-1)?.[1];
}
const isGood = (given: unknown): boolean =>
  typeof given === 'object' &&
  given !== null &&
  Object.hasOwn(given, 'goal') &&
  !JSON.stringify(given).includes('/etc');

/** What must hold of any answer. */
function expectAnswer(text: string, result: Result<unknown, Parameters<typeof expectShowable>[1]>): void {
  if (!result.ok) {
    expect(result.error.length).toBeGreaterThan(0);
    expectShowable(text, result.error);
  }
}

test('the unit of a milestone is the one that was written for it, or there is an error', () => {
  let found = 0;
  fc.assert(
    fc.property(ledger, id, (written, milestone) => {
      const result = read(Buffer.from(written.text), milestone);
      const wanted = expected(written, milestone);
      expect(result.ok, written.text).toBe(isGood(wanted));
      if (result.ok) {
        found += 1;
        expect(result.value).toEqual(wanted);
      }
      expectAnswer(written.text, result);
    }),
    runsOf(2000),
  );
  expect(found).toBeGreaterThan(100);
});

test('of any bytes are answered', () => {
  const cut = fc
    .tuple(ledger, fc.nat(), fc.nat(6), fc.uint8Array({ maxLength: 3 }))
    .map(([{ text }, at, drop, put]) => {
      const bytes = Buffer.from(text);
      const from = at % (bytes.length + 1);
      return Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(from + drop)]);
    });
  fc.assert(
    fc.property(cut, id, fc.option(fc.string({ unit: 'binary' })), (bytes, milestone, blocker) => {
      const result = read(bytes, milestone, blocker);
      const text = new TextDecoder().decode(bytes);
      // A ledger is believed as a whole: no unit comes from a text of which a part is not JSON.
      if (result.ok)
        expect(isJson(text) || text.split('\n').every((line) => line.trim() === '' || isJson(line))).toBe(true);
      expectAnswer(text, result);
    }),
    runsOf(3000),
  );
});

test('a torn JSON Lines file gives no unit, wherever it is torn inside a record', () => {
  fc.assert(
    fc.property(recordLines, fc.nat(), ({ text }, at) => {
      const torn = text.slice(0, at % (text.length + 1));
      const last = torn.slice(torn.lastIndexOf('\n') + 1);
      if (last.trim() === '' || isJson(last)) return;
      for (const milestone of ['m1', 'm2', 'm3']) expect(read(Buffer.from(torn), milestone).ok, torn).toBe(false);
    }),
    runsOf(1000),
  );
});
