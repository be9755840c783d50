/** Rules for custom adapters: every argv item is one literal argument or one whole placeholder, never a command line. */
import { BUILT_IN_ADAPTERS, PLACEHOLDERS } from '../model/config.ts';
import { errorAt, type Finding, quote } from './finding.ts';
import { repeated } from './path-rules.ts';
import type { AdapterView, ProfileView, Text } from './view.ts';

/** `cursor` must mean the same in every repository. */
export function builtInName({ value, span }: AdapterView): Finding[] {
  if (!BUILT_IN_ADAPTERS.some((name) => name === value)) return [];
  const message = `a custom adapter may not take the name of the built-in ${value}`;
  return [errorAt('ADAPTER_NAME_TAKEN', span, message, 'Give it a name of its own.')];
}

const itemsOf = (adapter: AdapterView): readonly Text[] => adapter.argv.flatMap(({ items }) => items);

/** What a shell would act on. Here it would reach the program as it is written, which is never what was meant. */
const SHELL = /[`$;|&<>\n]/;

/** Shell characters in an item: no shell reads it, so whoever wrote one expected something else. */
export function argvMetacharacters(adapter: AdapterView): Finding[] {
  return itemsOf(adapter).flatMap(({ value, span }) => {
    const found = SHELL.exec(value);
    if (found === null) return [];
    const message = `the argv item holds the shell character ${quote(found[0])}`;
    return [errorAt('ARGV_METACHARACTER', span, message, 'An item is one literal argument; no shell reads it.')];
  });
}

/** `--flag value` in one item: a command line, or one argument that no program knows. */
export function argvCommandLine(adapter: AdapterView): Finding[] {
  return itemsOf(adapter)
    .filter(({ value }) => /^-[^\s=]*\s/.test(value))
    .map(({ value, span }) => {
      const parts = value.trim().split(/\s+/).slice(0, 4);
      const hint = `Write each argument as an item of its own: ${parts.join(', ').slice(0, 80)}.`;
      return errorAt('ARGV_COMMAND_LINE', span, `the argv item ${quote(value)} holds several arguments`, hint);
    });
}

const isPlaceholder = (value: string): boolean => PLACEHOLDERS.some((name) => name === value);

/** A placeholder is a whole item; any other `{…}` is a misspelt one. */
export function placeholderForm(adapter: AdapterView): Finding[] {
  return itemsOf(adapter).flatMap(({ value, span }) => {
    if (isPlaceholder(value)) return [];
    const inside = PLACEHOLDERS.find((name) => value.includes(name));
    if (inside !== undefined) {
      const message = `the placeholder ${inside} must be a whole argv item`;
      const hint = `Write it as an item of its own: [--flag, '${inside}'].`;
      return [errorAt('PLACEHOLDER_EMBEDDED', span, message, hint)];
    }
    const other = /\{[^{}]*\}/.exec(value);
    if (other === null) return [];
    const message = `${quote(other[0])} is not a placeholder`;
    return [errorAt('PLACEHOLDER_UNKNOWN', span, message, `Known placeholders: ${PLACEHOLDERS.join(', ')}.`)];
  });
}

/** `{model}` has a value only where a model is fixed; `model_argv` is used only then. */
export function modelPlaceholder(adapter: AdapterView): Finding[] {
  return adapter.argv
    .filter(({ key }) => key !== 'model_argv')
    .flatMap(({ items }) => items)
    .filter(({ value }) => value === '{model}')
    .map(({ span }) =>
      errorAt('PLACEHOLDER_MISPLACED', span, '{model} belongs into model_argv', 'With model: auto it has no value.'),
    );
}

/** The prompt reaches the worker once. */
export function promptPlaceholder(adapter: AdapterView): Finding[] {
  const prompts = itemsOf(adapter).filter(({ value }) => value === '{prompt}');
  const extra = adapter.promptTransport === 'stdin' ? prompts : prompts.slice(1);
  const message =
    adapter.promptTransport === 'stdin'
      ? 'the prompt goes by stdin, so {prompt} would pass it twice'
      : '{prompt} may stand in one place only';
  return extra.map(({ span }) => errorAt('PLACEHOLDER_MISPLACED', span, message, 'Remove this item.'));
}

/** A model that cannot be passed would be dropped in silence. */
export function modelArgv(adapter: AdapterView, profiles: readonly ProfileView[]): Finding[] {
  const modelItems = adapter.argv.find(({ key }) => key === 'model_argv');
  if (modelItems === undefined || modelItems.items.some(({ value }) => value === '{model}')) return [];
  if (modelItems.items.length > 0) {
    const message = 'model_argv does not hold {model}';
    return [
      errorAt('MODEL_ARGV', modelItems.span, message, "Write the flag and the placeholder: [--model, '{model}']."),
    ];
  }
  return profiles.flatMap(({ adapter: used, model }) => {
    if (used?.value !== adapter.value || model === null || model.value === 'auto') return [];
    const message = `adapter ${adapter.value} has no model_argv to pass ${quote(model.value)} by`;
    return [errorAt('MODEL_ARGV', model.span, message, 'Write model: auto, or give the adapter a model_argv.')];
  });
}

/** Variables that the host never hands on, whoever asks for them. */
const RESERVED = /^(?:GIT_|AGENT_EXEC_)/;

/** `pass_env`: each name once, and none that the host keeps from every worker. */
export function passedVariables({ passEnv }: AdapterView): Finding[] {
  const reserved = passEnv.filter(({ value }) => RESERVED.test(value));
  return [
    ...reserved.map(({ value, span }) => {
      const hint = 'Variables of git and of agent-exec never reach a worker.';
      return errorAt('ENV_RESERVED', span, `the variable ${quote(value)} may not be passed`, hint);
    }),
    ...repeated(passEnv, 'LISTED_TWICE', 'the variable'),
  ];
}

/** `required_help`: flags as a help text shows them, each once. */
export function requiredFlags({ requiredHelp }: AdapterView): Finding[] {
  const wrong = requiredHelp.filter(({ value }) => value !== '' && !/^-{1,2}[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(value));
  return [
    ...wrong.map(({ value, span }) =>
      errorAt('REQUIRED_FLAG', span, `${quote(value)} is not a flag`, 'Write flags as the help shows them: --print.'),
    ),
    ...repeated(requiredHelp, 'LISTED_TWICE', 'the flag'),
  ];
}
