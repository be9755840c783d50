/**
 * An adapter from a `custom_adapters` definition (SPEC 3): the owner's argv lists, in the order base, run-everything,
 * workspace, model, with placeholders as whole items. No shell, no templates, no guessing: what a list cannot say is an error.
 */
import type {
  Adapter,
  EventReader,
  Invocation,
  InvocationRequest,
  ReaderFacts,
  Unavailable,
} from '../model/adapter.ts';
import type { CustomAdapter } from '../model/config.ts';
import { err, ok, type Result } from '../model/result.ts';
import {
  byteLength,
  fitsArgument,
  incompatible,
  invocation,
  MAX_ARGUMENT_BYTES,
  type Places,
  slugProblem,
} from './argv.ts';
import { eventReader } from './event-reader.ts';
import { awayFromFreeModel, opencode } from './opencode.ts';
import { builtInAdapter, builtInAdapters } from './registry.ts';
import type { Sentinel } from './sentinel.ts';
import { textReader } from './text-reader.ts';

/** A prompt as a positional argument must not begin like a flag; a line break in front changes nothing for its reader. */
const unflagged = (prompt: string): string => (prompt.startsWith('-') ? `\n${prompt}` : prompt);

function items(definition: CustomAdapter, request: InvocationRequest): readonly string[] {
  const all = [
    ...definition.base_argv,
    ...definition.run_everything_argv,
    ...definition.workspace_argv,
    ...(request.model === null ? [] : definition.model_argv),
  ];
  return definition.prompt_transport !== 'stdin' && !all.includes('{prompt}') ? [...all, '{prompt}'] : all;
}

function problem(name: string, definition: CustomAdapter, request: InvocationRequest): Unavailable | null {
  const slug = slugProblem(request);
  if (slug !== null) return slug;
  const given = items(definition, request);
  const bad = (code: Unavailable['code'], message: string): Unavailable => ({ code, message });
  if (request.effort !== null) {
    return bad('INCOMPATIBLE', `Adapter ${name} has no argv for an effort. Remove \`effort\` from the profile.`);
  }
  if (request.model !== null && definition.model_argv.length === 0 && !given.includes('{model}')) {
    return bad(
      'UNRESOLVED_MODEL_SLUG',
      `Adapter ${name} has no model_argv to name ${request.model} by. Set \`model: auto\`, or give the adapter a model_argv.`,
    );
  }
  if (request.model === null && given.includes('{model}')) {
    return bad(
      'UNRESOLVED_MODEL_SLUG',
      `Adapter ${name} uses {model} outside model_argv, and the profile fixes no model. Move it to model_argv, or fix one.`,
    );
  }
  if (definition.prompt_transport === 'stdin' && given.includes('{prompt}')) {
    return bad(
      'INCOMPATIBLE',
      `Adapter ${name} takes the prompt on stdin and names {prompt} too. Remove one: the worker would get it twice.`,
    );
  }
  return null;
}

function transport(
  definition: CustomAdapter,
  request: InvocationRequest,
): Result<{ readonly prompt: (places: Places) => string; readonly stdin: Invocation['stdin'] }, Unavailable> {
  switch (definition.prompt_transport) {
    case 'stdin':
      return ok({
        prompt: () => '',
        stdin: { kind: 'bytes', bytes: new TextEncoder().encode(request.prompt) },
      });
    case 'file':
      return ok({ prompt: (places) => places.promptFile, stdin: { kind: 'null' } });
    case 'argument': {
      if (request.prompt.includes('\u0000')) {
        return incompatible(
          'The prompt holds a NUL character, which no argument can carry. Use prompt_transport stdin.',
        );
      }
      if (!fitsArgument(unflagged(request.prompt))) {
        return err({
          code: 'PROMPT_TOO_LARGE',
          message: `The prompt has ${byteLength(request.prompt)} bytes and one argument holds ${MAX_ARGUMENT_BYTES}. Use prompt_transport stdin or file.`,
        });
      }
      return ok({ prompt: (places) => unflagged(places.prompt), stdin: { kind: 'null' } });
    }
  }
}

function invoke(name: string, definition: CustomAdapter, request: InvocationRequest): Result<Invocation, Unavailable> {
  const wrong = problem(name, definition, request);
  if (wrong !== null) return err(wrong);
  const carried = transport(definition, request);
  if (!carried.ok) return carried;
  const { prompt, stdin } = carried.value;
  const recipe = (places: Places): readonly string[] =>
    items(definition, request).map((item) => {
      switch (item) {
        case '{workspace}':
          return places.workspace;
        case '{model}':
          return request.model ?? item;
        case '{prompt}':
          return prompt(places);
        case '{result}':
          return places.result;
        default:
          return item;
      }
    });
  // Some other program may speak its events too; that one does not mind the variable.
  const away = definition.output_format === 'opencode' ? awayFromFreeModel(request) : ok({});
  if (!away.ok) return away;
  return invocation(request, recipe, { stdin, environment: away.value });
}

/** API keys that a built-in adapter passes only where calls that bill by use are authorised; so does any other. */
const METERED: ReadonlySet<string> = new Set(builtInAdapters.flatMap(({ credentials }) => credentials.metered));

/** The chosen format's reader, with the owner's refusal prefixes watched beside it. */
function reader(
  format: CustomAdapter['output_format'],
  sentinels: readonly Sentinel[],
  facts: ReaderFacts,
): EventReader {
  if (format === 'text') return textReader(sentinels, facts);
  const inner = builtInAdapter(format)?.reader(facts) ?? textReader(sentinels, facts);
  if (sentinels.length === 0) return inner;
  const prefixes = eventReader({ sentinels, names: [], promisesResult: false, onEvent: () => [] }, facts);
  return {
    read(stream, line) {
      prefixes.read(stream, line);
      return inner.read(stream, line);
    },
    readBlock(stream, block) {
      prefixes.readBlock(stream, block);
      return inner.readBlock(stream, block);
    },
    refusalTold: () => inner.refusalTold() ?? prefixes.refusalTold(),
    report() {
      const report = inner.report();
      const refusal = report.refusal ?? (report.status === 'success' ? null : prefixes.report().refusal);
      return { ...report, refusal };
    },
  };
}

/** The adapter that a definition describes; it has been validated before (shape, names, no shell templates). */
export function customAdapter(name: string, definition: CustomAdapter): Adapter {
  const sentinels: readonly Sentinel[] = (definition.refusal_prefixes ?? []).map((start) => ({
    start,
    streams: ['stdout', 'stderr'],
    code: 'read-or-provider',
  }));
  const required = definition.required_help ?? [];
  return {
    name,
    programs: [],
    probe: {
      version: null,
      // Never asked for; whatever it is called with says nothing.
      readVersion: () => incompatible(`Adapter ${name} has no version command.`),
      help: required.length === 0 ? [] : [{ args: ['--help'] }],
      requiredFlags: required,
    },
    // The owner names these variables for this worker: passed whatever the profile's cost, but for known API keys.
    credentials: {
      subscription: (definition.pass_env ?? []).filter((name) => !METERED.has(name)),
      metered: (definition.pass_env ?? []).filter((name) => METERED.has(name)),
      settings: [],
    },
    environment: {},
    stateFolders: [],
    loginFiles: definition.output_format === 'opencode' ? opencode.loginFiles : [],
    invoke: (request) => invoke(name, definition, request),
    reader: (facts = {}) => reader(definition.output_format, sentinels, facts),
    lingerMs: null,
    models: null,
  };
}
