/** Custom adapters: the owner's lists, in order, with placeholders as whole items and nothing made up. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_ARGUMENT_BYTES } from '../../src/adapters/argv.ts';
import { customAdapter } from '../../src/adapters/custom.ts';
import type { Invocation, InvocationRequest, Unavailable } from '../../src/model/adapter.ts';
import type { CustomAdapter } from '../../src/model/config.ts';
import { readLines, request } from './request.ts';

const EMPTY: CustomAdapter = {
  base_argv: [],
  run_everything_argv: [],
  workspace_argv: [],
  model_argv: [],
  prompt_transport: 'stdin',
  output_format: 'text',
};
function invoked(definition: Partial<CustomAdapter>, given: Partial<InvocationRequest> = {}): Invocation {
  const result = customAdapter('own', { ...EMPTY, ...definition }).invoke(request(given));
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}
function refused(definition: Partial<CustomAdapter>, given: Partial<InvocationRequest> = {}): Unavailable {
  const result = customAdapter('own', { ...EMPTY, ...definition }).invoke(request(given));
  if (result.ok) throw new Error(`invoked: ${result.value.args.join(' ')}`);
  return result.error;
}

const LISTS: Partial<CustomAdapter> = {
  base_argv: ['worker.js', '--headless'],
  run_everything_argv: ['--yes'],
  workspace_argv: ['--dir', '{workspace}'],
  model_argv: ['--model', '{model}'],
};

describe('argv', () => {
  test('stands in the order base, run-everything, workspace, model', () => {
    const { args, shownArgs, stdin } = invoked(LISTS, { model: 'm1' });
    expect(args).toEqual(['worker.js', '--headless', '--yes', '--dir', '/run/attempt/workspace', '--model', 'm1']);
    expect(shownArgs).toEqual(['worker.js', '--headless', '--yes', '--dir', '{workspace}', '--model', 'm1']);
    expect(stdin).toEqual({ kind: 'bytes', bytes: new TextEncoder().encode(request().prompt) });
  });
  test('has no model flag where none is set', () => {
    expect(invoked(LISTS).args).toEqual(['worker.js', '--headless', '--yes', '--dir', '/run/attempt/workspace']);
  });
  test('only whole items are placeholders', () => {
    const base_argv = ['--to={result}', '{result}', '{nothing}', '$(id)', '{workspace}/x'];
    expect(invoked({ base_argv }).args).toEqual([
      '--to={result}',
      '/run/attempt/result.txt',
      '{nothing}',
      '$(id)',
      '{workspace}/x',
    ]);
  });
  test('a placeholder inside the prompt, the model or a path stays what it is', () => {
    const { args } = invoked(
      { base_argv: ['{prompt}', '{workspace}'], model_argv: ['{model}'], prompt_transport: 'argument' },
      { prompt: '{workspace}', workspace: '/w/{prompt}', model: 'x{prompt}' },
    );
    expect(args).toEqual(['{workspace}', '/w/{prompt}', 'x{prompt}']);
  });
});

describe('the prompt', () => {
  test('as an argument stands where the owner put it, else last', () => {
    const base_argv = ['-p', '{prompt}', '--end'];
    const prompt = 'Do this.';
    const own = invoked({ base_argv, prompt_transport: 'argument' }, { prompt });
    expect(own.args).toEqual(['-p', prompt, '--end']);
    expect(own.shownArgs).toEqual(base_argv);
    expect(own.stdin).toEqual({ kind: 'null' });
    const last = invoked({ ...LISTS, prompt_transport: 'argument' }, { prompt, model: 'm1' });
    expect(last.args.slice(-3)).toEqual(['--model', 'm1', prompt]);
  });
  test('as an argument never begins like a flag', () => {
    expect(invoked({ prompt_transport: 'argument' }, { prompt: '--rm -rf' }).args).toEqual(['\n--rm -rf']);
  });
  test('as a file is the path of the file, the prompt itself nowhere', () => {
    const { args, shownArgs, stdin } = invoked({ base_argv: ['@', '{prompt}'], prompt_transport: 'file' });
    expect(args).toEqual(['@', '/run/attempt/prompt.md']);
    expect(shownArgs).toEqual(['@', '{prompt}']);
    expect(stdin).toEqual({ kind: 'null' });
    expect(invoked({ prompt_transport: 'file' }).args).toEqual(['/run/attempt/prompt.md']);
  });
  test('over the limit of one argument is PROMPT_TOO_LARGE, for any letters', () => {
    const fits = 'é'.repeat((MAX_ARGUMENT_BYTES - 1) / 2);
    expect(invoked({ prompt_transport: 'argument' }, { prompt: fits }).args).toEqual([fits]);
    const { code, message } = refused({ prompt_transport: 'argument' }, { prompt: `${fits}é` });
    expect(code).toBe('PROMPT_TOO_LARGE');
    expect(message).toMatch(/131072 bytes.*131071.*stdin or file/);
    expect(refused({ prompt_transport: 'argument' }, { prompt: `-${'x'.repeat(MAX_ARGUMENT_BYTES - 1)}` }).code).toBe(
      'PROMPT_TOO_LARGE',
    );
  });
  test('of 1 MB goes by stdin and by file', () => {
    const prompt = 'x'.repeat(1_000_000);
    expect(invoked({}, { prompt }).stdin).toMatchObject({ kind: 'bytes', bytes: { length: 1_000_000 } });
    expect(invoked({ prompt_transport: 'file' }, { prompt }).args).toEqual(['/run/attempt/prompt.md']);
  });
  test('with a NUL cannot be an argument', () => {
    expect(refused({ prompt_transport: 'argument' }, { prompt: 'a\u0000b' }).code).toBe('INCOMPATIBLE');
  });
});

describe('what the lists cannot say is an error, never dropped', () => {
  test.each([
    ['a model without model_argv', {}, { model: 'm1' }, 'UNRESOLVED_MODEL_SLUG'],
    ['{model} with no model', { base_argv: ['{model}'] }, {}, 'UNRESOLVED_MODEL_SLUG'],
    ['a model like a flag', LISTS, { model: '--yolo' }, 'UNRESOLVED_MODEL_SLUG'],
    ['an effort', LISTS, { effort: 'high' }, 'INCOMPATIBLE'],
    ['the prompt twice', { base_argv: ['{prompt}'] }, {}, 'INCOMPATIBLE'],
  ] as const)('%s', (_, definition, given, code) => {
    expect(refused(definition as Partial<CustomAdapter>, given).code).toBe(code);
  });
});

test('law: real and shown arguments differ only where a placeholder stands', () => {
  const item = fc.oneof(fc.constantFrom('{workspace}', '{result}', '{prompt}', '--flag'), fc.string({ minLength: 1 }));
  const list = fc.array(item, { maxLength: 5 });
  fc.assert(
    fc.property(list, list, list, fc.constantFrom('argument', 'file'), (base, run, where, prompt_transport) => {
      const lists = { base_argv: base, run_everything_argv: run, workspace_argv: where };
      const { args, shownArgs } = invoked({ ...lists, prompt_transport });
      expect(args).toHaveLength(shownArgs.length);
      shownArgs.forEach((shown, i) => {
        if (!['{workspace}', '{result}', '{prompt}'].includes(shown)) expect(args[i]).toBe(shown);
      });
      expect(shownArgs.slice(0, base.length + run.length + where.length)).toEqual([...base, ...run, ...where]);
    }),
  );
});

describe('probing', () => {
  test('asks for help only where the owner requires flags, and never for a version', () => {
    expect(customAdapter('own', EMPTY).probe).toMatchObject({ version: null, help: [], requiredFlags: [] });
    expect(customAdapter('own', { ...EMPTY, required_help: ['--yes'] }).probe).toMatchObject({
      help: [{ args: ['--help'] }],
      requiredFlags: ['--yes'],
    });
  });
});

describe('reading', () => {
  const text = customAdapter('own', EMPTY);
  test('plain text: the end of stdout is the last message', () => {
    const { report, observations } = readLines(text, ['one', 'e> a warning', '', 'two', '']);
    expect(report).toMatchObject({ status: null, finalText: 'one\n\ntwo', refusal: null, resultMissing: false });
    expect(observations).toEqual([
      { kind: 'activity', text: 'one' },
      { kind: 'activity', text: 'a warning' },
      { kind: 'activity', text: 'two' },
    ]);
  });
  test('a built-in’s stream with the owner’s prefixes beside it', () => {
    const own = customAdapter('own', { ...EMPTY, output_format: 'claude', refusal_prefixes: ['NO QUOTA'] });
    const success = '{"type":"result","subtype":"success","is_error":false,"result":"Done."}';
    expect(readLines(own, [success]).report).toMatchObject({ status: 'success', finalText: 'Done.', refusal: null });
    expect(readLines(own, ['e> NO QUOTA left']).report).toMatchObject({
      refusal: { code: 'PROVIDER_ERROR', source: 'stderr' },
      resultMissing: true,
    });
    expect(readLines(own, ['e> NO QUOTA left', success]).report.refusal).toBeNull();
  });
});
