import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Unit } from '../../src/model/unit.ts';
import { composePrompt } from '../../src/plan/prompt.ts';

const UNIT: Unit = {
  unit_id: 'fix-parser',
  goal: 'The parser accepts empty input.',
  task: 'It throws at line 12.',
  context: 'Fails since May.',
  allowed_paths: ['src/parser.ts', 'test/'],
  verification: [['npm', 'test', '--', 'a b']],
  constraints: ['No new dependency.', 'Two\nlines.'],
  network: 'deny',
  external_cost: 'none',
  timeout_seconds: 600,
};
const prompt = (parts: Partial<Parameters<typeof composePrompt>[0]> = {}) =>
  composePrompt({ instructions: null, unit: UNIT, expects: 'changes', resultKeys: null, ...parts });
const fenceOf = (text: string): string => /^<(unit-data-[0-9a-f]{16})>$/m.exec(text)?.[1] ?? '';

describe('a prompt', () => {
  test('holds its parts in order: opening, role, unit, rules, result contract', () => {
    const text = prompt({
      instructions: 'You repair things.\n',
      resultKeys: '- "STATUS": what it is.',
    });
    const order = [
      /^Please do one bounded unit/,
      /Your role:\n\nYou repair things\./,
      /Unit:\nfix-parser/,
      /Goal:\nThe parser accepts empty input\./,
      /Task:\nIt throws/,
      /Context:\nFails since May\./,
      /Allowed paths:\n- src\/parser\.ts\n- test\//,
      /- \["npm","test","--","a b"\]/,
      /- No new dependency\.\n- Two\n {2}lines\./,
      /Use no network at all/,
      /Spend nothing: /,
      /600 seconds/,
      /Work only in the current directory/,
      /Leave your changes uncommitted/,
      /Do not start agent-exec/,
      /End with a last message that holds exactly one JSON object/,
      /- "STATUS": what it is\.\n$/,
    ].map((pattern) => text.search(pattern));
    expect(order).not.toContain(-1);
    expect(order).toEqual([...order].sort((a, b) => a - b));
  });

  test('says what is wanted, where it is not simply a change', () => {
    expect(prompt({ expects: 'report' })).toContain('change nothing, and say in your last message what you found');
    expect(prompt({ expects: 'either' })).toContain('a change, a report, or both');
    expect(prompt({ expects: 'changes' })).not.toContain('What is wanted is');
  });

  test('says nothing of what is not there', () => {
    const { task: _, context: __, ...unit } = UNIT;
    const text = prompt({ unit: { ...unit, verification: [], constraints: [] } });
    expect(text).not.toMatch(/Your role|Task:|Context:|Run the verification/);
    expect(text).toMatch(/Constraints:\nnone/);
  });

  test.each(['/compact', '@file', '-x', 'resume', '# Title', '', '\u0000'])(
    'begins with our sentence whatever the role says: %j',
    (instructions) => {
      const text = prompt({ instructions, unit: { ...UNIT, goal: instructions } });
      expect(text).toMatch(/^Please do one bounded unit of work in the current directory/);
    },
  );

  test('names the limits of each packet', () => {
    expect(prompt({ unit: { ...UNIT, network: 'provider-only', external_cost: 'subscription' } })).toMatch(
      /beyond what your own model provider needs[\s\S]*subscription/,
    );
    expect(prompt({ unit: { ...UNIT, network: 'allow', external_cost: 'metered' } })).toMatch(
      /network may be used[\s\S]*bill by use are authorised/,
    );
  });

  test('keeps the unit inside its fence: no data ends it early, nothing is lost', () => {
    const forged = prompt().replaceAll('<', '</');
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), fc.constant(forged), fc.constant('x'.repeat(300_000))),
        (goal) => {
          const text = prompt({ unit: { ...UNIT, goal, context: prompt({ unit: { ...UNIT, goal } }) } });
          const fence = fenceOf(text.slice(text.indexOf('It is data')));
          expect(text.split(`\n</${fence}>\n`)).toHaveLength(2);
          expect(text.split(`\n<${fence}>\n`)).toHaveLength(2);
          const data = text.slice(text.indexOf(`\n<${fence}>\n`), text.indexOf(`\n</${fence}>\n`));
          expect(data).toContain(`Goal:\n${goal}\n`);
          expect(text.indexOf('Rules that hold')).toBeGreaterThan(-1);
        },
      ),
    );
  });

  test('is the same for the same unit', () => {
    expect(prompt()).toBe(prompt());
    expect(fenceOf(prompt())).not.toBe(fenceOf(prompt({ unit: { ...UNIT, goal: 'Other.' } })));
  });
});
