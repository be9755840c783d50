/**
 * Building an invocation: one recipe gives both the real arguments and those that a receipt shows, so the two cannot drift
 * apart. Nothing here is ever a command line; each item is one literal argument.
 */
import type { Invocation, InvocationRequest, Unavailable } from '../model/adapter.ts';
import { err, ok, type Result } from '../model/result.ts';

/** Linux refuses one argument of more than 128 KiB, its closing NUL included (E2BIG). */
export const MAX_ARGUMENT_BYTES = 131_072 - 1;

export interface Places {
  readonly workspace: string;
  readonly prompt: string;
  readonly promptFile: string;
  readonly result: string;
}

const SHOWN: Places = { workspace: '{workspace}', prompt: '{prompt}', promptFile: '{prompt}', result: '{result}' };

export const byteLength = (text: string): number => Buffer.byteLength(text, 'utf8');

/** True where the text can be one argument: short enough, and without the NUL that ends one. */
export const fitsArgument = (text: string): boolean =>
  byteLength(text) <= MAX_ARGUMENT_BYTES && !text.includes('\u0000');

export const promptBytes = (request: InvocationRequest): Invocation['stdin'] => ({
  kind: 'bytes',
  bytes: new TextEncoder().encode(request.prompt),
});

export function invocation(
  request: InvocationRequest,
  recipe: (places: Places) => readonly string[],
  rest: { readonly stdin: Invocation['stdin']; readonly environment?: Readonly<Record<string, string>> },
): Result<Invocation, never> {
  const { workspace, prompt, promptFile, resultFile: result } = request;
  return ok({
    args: recipe({ workspace, prompt, promptFile, result }),
    shownArgs: recipe(SHOWN),
    stdin: rest.stdin,
    environment: rest.environment ?? {},
  });
}

export const incompatible = (message: string): Result<never, Unavailable> => err({ code: 'INCOMPATIBLE', message });

/** A model or effort is a value behind a flag: it must not be able to become a flag or anything but one word. */
const VALUE = /^[\p{L}\p{N}][^\s\p{C}]{0,199}$/u;
/** Stands for the slug in a plan that is only shown, where the CLI's list has not been asked yet. */
const UNRESOLVED = '{model}';
const EFFORT = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;

/** Why the requested model or effort cannot be passed; null where it can, or where none is asked for. */
export function slugProblem(request: InvocationRequest): Unavailable | null {
  const { model, effort } = request;
  if (model !== null && model !== UNRESOLVED && !VALUE.test(model)) {
    return {
      code: 'UNRESOLVED_MODEL_SLUG',
      message: `The model ${JSON.stringify(model)} is not a slug. Write it as the CLI lists it, without spaces or a leading dash.`,
    };
  }
  if (effort !== null && !EFFORT.test(effort)) {
    return {
      code: 'UNRESOLVED_MODEL_SLUG',
      message: `The effort ${JSON.stringify(effort)} is not one word. Write a level that the CLI knows, such as high.`,
    };
  }
  return null;
}

/** For CLIs without a flag for it: an effort that would be dropped in silence is refused instead. */
export const effortProblem = (request: InvocationRequest, program: string): Unavailable | null =>
  request.effort === null
    ? null
    : {
        code: 'INCOMPATIBLE',
        message: `${program} has no flag for an effort. Remove \`effort\` from the profile, or name a model that carries it.`,
      };
