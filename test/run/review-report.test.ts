/** A role that expects a report in the shape of review-report/v1: what is asked, what is accepted, what is printed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { World } from './world.ts';

const FINDING = { path: 'src/a.txt', line: 1, severity: 'major', evidence: 'it says a' };
const REPORT = { STATUS: 'READY', SUMMARY: 'Read src/.', FINDINGS: [FINDING] };

async function review(said: string, work = ':') {
  const world = new World();
  const script = `cat > @D@/prompt; ${work}; cat <<'END'\n${said}\nEND`;
  world.configure({ one: { script } }, [], ['result: review-report/v1', 'expects: report']);
  const before = world.canonical();
  const args = ['run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state];
  const receiptPath = join(world.folder, 'receipt.json');
  const done = await world.cli([...args, '--receipt', receiptPath, '--print', 'result', '--quiet']);
  expect(world.canonical()).toEqual(before);
  const [attempt] = JSON.parse(readFileSync(receiptPath, 'utf8')).attempts;
  return { ...done, attempt, prompt: readFileSync(join(world.folder, 'prompt'), 'utf8') };
}

test('a report of nothing but findings is a success without a commit', async () => {
  const { code, stdout, stderr, attempt, prompt } = await review(
    `I looked.\n\`\`\`json\n${JSON.stringify(REPORT)}\n\`\`\``,
  );
  expect([code, stdout, stderr]).toEqual([0, `${JSON.stringify(REPORT)}\n`, '']);
  expect(attempt).toMatchObject({ code: 'OK', transport: null, worker_result: REPORT, findings: [] });
  expect(prompt).toContain('What is wanted is a report: change nothing');
  expect(prompt).toContain('"severity", one of "critical", "major", "minor", "note"');
});

test('a report that is blocked ends with 6', async () => {
  const blocked = { STATUS: 'BLOCKED', SUMMARY: 'src/ is empty', FINDINGS: [] };
  const { code, stdout, attempt } = await review(JSON.stringify(blocked));
  expect([code, JSON.parse(stdout), attempt.code]).toEqual([6, blocked, 'WORKER_BLOCKED']);
});

test("what is in the way is told to people too, in the worker's words, bounded and harmless", async () => {
  const world = new World();
  const blocked = { STATUS: 'BLOCKED', SUMMARY: `src/ is \u001b[31mempty ${'x'.repeat(9000)}`, FINDINGS: [] };
  world.configure(
    { one: { script: `cat >/dev/null; cat <<'END'\n${JSON.stringify(blocked)}\nEND` } },
    [],
    ['result: review-report/v1', 'expects: report'],
  );
  const done = await world.cli(['run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state]);
  expect(done.code).toBe(6);
  const said = done.stdout.split('\n').filter((line) => line.startsWith('says '));
  expect(said).toEqual([expect.stringMatching(/^says {4}SUMMARY: src\/ is \\x1b\[31mempty x{200,}/)]);
  expect(Buffer.byteLength(said[0] ?? '')).toBeLessThan(350);
  expect(done.stdout).toContain('next    agent-exec show ');
});

test.each([
  [
    'a severity of its own',
    JSON.stringify({ ...REPORT, FINDINGS: [{ ...FINDING, severity: 'high' }] }),
    'INVALID_WORKER_RESULT',
  ],
  ['the result of a repair', '{"STATUS":"READY","ROOT_CAUSE":"CONFIRMED"}', 'INVALID_WORKER_RESULT'],
  ['prose', 'I found nothing.', 'NO_RESULT'],
])('%s is no report, and nothing is printed', async (_, said, code) => {
  const done = await review(said);
  expect([done.code, done.stdout, done.attempt.code]).toEqual([4, '', code]);
});

test('a change beside a report is kept, and noted', async () => {
  const { code, attempt } = await review(JSON.stringify(REPORT), 'echo more >> src/a.txt');
  expect(code).toBe(0);
  expect(attempt.findings).toMatchObject([{ code: 'CHANGES_NOT_EXPECTED', paths: ['src/a.txt'] }]);
});
