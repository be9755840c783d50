import { expect, test } from 'vitest';
import { policy } from '../../src/model/config.ts';
import { candidatesOf } from '../../src/plan/candidates.ts';

const POLICY = policy.parse({
  schema: 'agent-execution/v1',
  execution: {
    fresh_process_per_unit: true,
    permission: 'run-everything',
    fallback_to_host: 'never',
    max_parallel: 1,
    timeout_seconds: 60,
    summary_bytes: 4096,
    raw_output_bytes: 4096,
  },
  roles: { repair: ['fast', 'own'] },
  profiles: {
    fast: {
      adapter: 'claude',
      executable: '/opt/claude',
      model: { family: 'opus', effort: 'high' },
      cost: 'metered',
      effort: 'low',
    },
    own: { adapter: 'scripted', enabled: false },
  },
  custom_adapters: {
    scripted: {
      base_argv: [],
      run_everything_argv: [],
      workspace_argv: [],
      model_argv: [],
      prompt_transport: 'stdin',
      output_format: 'text',
    },
  },
});

test('profiles become candidates in the order asked for, with built-in and custom adapters', () => {
  const [own, fast] = candidatesOf(POLICY, ['own', 'fast']);
  expect(own).toMatchObject({
    attemptId: '01-own',
    profile: 'own',
    adapter: { name: 'scripted' },
    executable: null,
    model: 'auto',
    effort: null,
    enabled: false,
    cost: 'subscription',
  });
  expect(fast).toMatchObject({
    attemptId: '02-fast',
    adapter: { name: 'claude' },
    executable: '/opt/claude',
    model: { family: 'opus', effort: 'high' },
    effort: 'low',
    enabled: true,
    cost: 'metered',
  });
});

test('the position has two digits at least', () => {
  expect(candidatesOf(POLICY, Array(101).fill('fast')).map(({ attemptId }) => attemptId)).toEqual(
    expect.arrayContaining(['09-fast', '10-fast', '100-fast', '101-fast']),
  );
});

test('what a valid policy cannot hold is a bug', () => {
  for (const name of ['none', 'toString', '__proto__'])
    expect(() => candidatesOf(POLICY, [name])).toThrow(/no profile/);
});
