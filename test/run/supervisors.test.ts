/** The example of docs/supervisors.md, taken out of the document and run: each way in which its script may end. */
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { given, type Scenario, type Step, standIn } from './standin.ts';
import { TOOL, World } from './world.ts';

const DOCUMENT = readFileSync(new URL('../../docs/supervisors.md', import.meta.url), 'utf8');
/** Path -> text of each block whose fence names a file. */
const FILES: Readonly<Record<string, string>> = Object.fromEntries(
  [...DOCUMENT.matchAll(/^(`{3,})\w+ (\S+)\n(.*?)\n\1$/gms)].map(([, , path, text]) => [path, `${text}\n`]),
);

const says = (response: object | string): Step => [
  'out',
  {
    event: 'result',
    result: { status: 'SUCCESS', response: typeof response === 'string' ? response : JSON.stringify(response) },
  },
];
const READY = {
  STATUS: 'READY',
  ROOT_CAUSE: 'CONFIRMED: src/greeting was empty',
  CHANGES: ['src/greeting: hello'],
  VERIFICATION_EVIDENCE: ['sh test.sh passes'],
  ROLLBACK: 'git revert',
  RESIDUAL_RISK: 'none known',
};
const BLOCKED = { ...READY, STATUS: 'BLOCKED', CHANGES: [], RESIDUAL_RISK: 'it stays broken' };
const WORK: Step = ['write', 'src/greeting', 'hello\n'];

/** A repository with the document's files, a failing test, and `agent-exec` on PATH; answers with what the script said. */
async function repair(
  scenario: Scenario | null,
  edit: (path: string, text: string) => string = (_, text) => text,
  prepare: (world: World) => void = () => {},
  blocker = 'grep: no match',
) {
  const world = new World();
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(world.repo, path)), { recursive: true });
    writeFileSync(join(world.repo, path), edit(path, text));
  }
  world.write('test.sh', 'grep -q hello src/greeting\n');
  world.write('src/greeting', '');
  const base = world.commit();
  prepare(world);
  const bin = join(world.folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'agent-exec'), `#!/bin/sh\nexec "${process.execPath}" "${TOOL}" "$@"\n`);
  chmodSync(join(bin, 'agent-exec'), 0o755);
  const path = scenario === null ? world.pathWithout('agy') : standIn(world, 'agy', scenario).PATH;
  const own = () =>
    ['plans/ledger.json', 'agents/repair.md', 'AGENT-EXECUTION.md'].map((name) => {
      const { ino, mtimeNs, ctimeNs } = lstatSync(join(world.repo, name), { bigint: true });
      return [ino, mtimeNs, ctimeNs];
    });
  const before = own();
  const people = Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((who) => [
      [`GIT_${who}_NAME`, 'supervisor'],
      [`GIT_${who}_EMAIL`, 'supervisor@example.invalid'],
    ]),
  );
  const variables = {
    PATH: `${bin}:${path}`,
    HOME: world.home,
    AGENT_EXEC_STATE_DIR: world.state,
    TMPDIR: world.folder,
  };
  const options = { cwd: world.repo, env: { ...people, ...variables } };
  const done = await promisify(execFile)('sh', ['repair.sh', 'm3', blocker], options);
  expect(own()).toEqual(before);
  expect(world.leftovers()).toEqual([]);
  return { ...done, said: done.stdout.trimEnd(), world, commits: world.git('rev-list', '--count', `${base}..HEAD`) };
}

describe.skipIf(process.platform !== 'linux')('the supervisor of the document', () => {
  test('is complete, and short', () => {
    expect(Object.keys(FILES)).toEqual(['AGENT-EXECUTION.md', 'agents/repair.md', 'plans/ledger.json', 'repair.sh']);
    expect(DOCUMENT.split('\n').length).toBeLessThanOrEqual(80);
    expect(existsSync(new URL('../../docs/packet.md', import.meta.url))).toBe(true);
  });

  test('goes on with a READY: the change is applied, verified and committed', async () => {
    const { said, world, commits } = await repair({ play: [WORK, says(READY)] });
    expect([said, commits]).toEqual(['going on', '1']);
    expect(world.git('show', '--format=%s', '--name-only', 'HEAD')).toBe('m3\n\nsrc/greeting');
    expect(world.git('status', '--porcelain')).toBe('');
  });

  test.each(['', '--help', 'it\'s "$HOME" `id`\n; exit 9'])(
    'hands over what was seen to fail, be it %j',
    async (blocker) => {
      const { said, world } = await repair({ play: [WORK, says(READY)] }, undefined, undefined, blocker);
      expect(said).toBe('going on');
      const prompt = given(world, '.gemini').at(-1)?.argv.at(-1) ?? '';
      if (blocker === '') expect(prompt).not.toContain('Context:');
      else expect(prompt).toContain(blocker);
    },
  );

  test('goes on with a READY that is too long to print', async () => {
    const { said, commits } = await repair({ play: [WORK, says({ ...READY, RESIDUAL_RISK: 'x'.repeat(5000) })] });
    expect([said, commits]).toEqual(['going on', '1']);
  });

  test('escalates a change that does not fit into the checkout', async () => {
    const { said, commits } = await repair({ play: [WORK, says(READY)] }, undefined, (world) =>
      world.write('src/greeting', 'mine\n'),
    );
    expect(said).toMatch(/^escalate: .*src\/greeting/s);
    expect(commits).toBe('0');
  });

  test.concurrent.each<[string, Scenario | null, string | RegExp]>([
    ['is blocked where the worker is', { play: [says(BLOCKED)] }, `blocked: ${JSON.stringify(BLOCKED)}`],
    ['is blocked where nobody did it', { play: [WORK, says('Done!')] }, /^blocked: \{.*"code":"NO_RESULT"/],
    [
      'is blocked where it does not pass',
      { play: [['write', 'src/b', 'b'], says(READY)] },
      /^blocked: .*VERIFICATION_FAILED/,
    ],
    [
      'does it itself where every worker is refused',
      {
        play: [
          ['err', 'error: No capacity available for model x'],
          ['exit', 3],
        ],
      },
      /^going on: do the unit yourself/,
    ],
    ['does it itself where there is no worker', null, /^going on: do the unit yourself/],
    [
      'escalates what left its scope',
      { play: [WORK, ['write', 'test.sh', 'exit 0'], says(READY)] },
      /^escalate 6: \{.*PATH_OUT_OF_SCOPE/,
    ],
  ])('%s', async (_, scenario, words) => {
    const { said, commits, stderr } = await repair(scenario);
    if (typeof words === 'string') expect(said, stderr).toBe(words);
    else expect(said, stderr).toMatch(words);
    expect(commits).toBe('0');
  });

  test.concurrent.each([
    ['plans/ledger.json', '"m3"', '"m4"', /ledger\.json:2:3 .*LEDGER_MILESTONE_UNKNOWN/],
    ['plans/ledger.json', '"src/"', '"/src/"', /ledger\.json:\d+:\d+ .*PATH_ABSOLUTE/],
    [
      'AGENT-EXECUTION.md',
      'repair-result/v1',
      'repair-result/v2',
      /AGENT-EXECUTION\.md:\d+:\d+ .*UNKNOWN_RESULT_CONTRACT/,
    ],
  ])('is told what to mend in %s: %s', async (file, from, to, words) => {
    const { said, commits } = await repair({}, (path, text) => (path === file ? text.replace(from, to) : text));
    expect(said).toMatch(/^mend the call or the files: /);
    expect(said).toMatch(words);
    expect(commits).toBe('0');
  });
});
