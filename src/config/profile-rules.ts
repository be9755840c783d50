/** Rules for profiles: their adapter, their program, and what can be asked of a model. */
import { BUILT_IN_ADAPTERS, NAME } from '../model/config.ts';
import { errorAt, type Finding, quote } from './finding.ts';
import { likelyWord } from './suggest.ts';
import type { PolicyView, ProfileView, Text } from './view.ts';

/** Adapters whose CLI lists its models, so that a family and an effort can be looked up. */
const LISTS_MODELS: readonly string[] = ['antigravity'];
/** Adapters whose CLI has no way to be told an effort. */
const NO_EFFORT: readonly string[] = ['cursor', 'kimi'];
/** Adapters that take a fixed model as provider/model. */
const PROVIDER_AND_MODEL: readonly string[] = ['opencode', 'pi'];

/** Whether a name that seems unknown may be defined in a part of the text that could not be read. */
export type MayBeLost = (key: string) => boolean;

/** True for a name that no custom adapter may take. */
export const isBuiltIn = (name: string): boolean => BUILT_IN_ADAPTERS.some((builtIn) => builtIn === name);

/** Every profile's adapter is built in or defined here. */
export function knownAdapters({ profiles, customAdapters }: PolicyView, mayBeLost: MayBeLost): Finding[] {
  if (customAdapters === null) return [];
  const names = [...BUILT_IN_ADAPTERS, ...customAdapters.map(({ value }) => value)];
  const known = new Set(names);
  return (profiles ?? [])
    .map(({ adapter }) => adapter)
    .filter((adapter): adapter is Text => adapter !== null && NAME.test(adapter.value))
    .filter(({ value }) => !known.has(value) && !mayBeLost(value))
    .map(({ value, span }, index) => {
      const hint = likelyWord(index, value, names, 'adapters');
      return errorAt('UNKNOWN_ADAPTER', span, `there is no adapter ${quote(value)}`, hint);
    });
}

/** A custom adapter has no default program name. */
export function customExecutable(
  { span, adapter, executable }: ProfileView,
  { customAdapters }: PolicyView,
): Finding[] {
  const custom =
    adapter !== null && !isBuiltIn(adapter.value) && customAdapters?.some(({ value }) => value === adapter.value);
  if (!custom || executable !== null) return [];
  const message = 'a profile of a custom adapter needs an executable';
  return [errorAt('EXECUTABLE_REQUIRED', span, message, 'Only built-in adapters have default program names.')];
}

/** One word that can never become a flag or anything a shell would act on. */
const SLUG = /^[\p{L}\p{N}][^\s\p{C}`$;|&<>"'\\]{0,199}$/u;

/** A fixed model is one word, so that it can never become a flag. */
export function modelSlug({ model }: ProfileView): Finding[] {
  if (model === null || model.value === '' || SLUG.test(model.value)) return [];
  const hint = 'Write the slug as the CLI lists it: one word that starts with a letter or digit.';
  return [errorAt('MODEL_SLUG', model.span, `${quote(model.value)} is not a model slug`, hint)];
}

/** `pi` and `opencode` need to know whose model it is. */
export function modelProvider({ adapter, model }: ProfileView): Finding[] {
  if (model === null || adapter === null || !PROVIDER_AND_MODEL.includes(adapter.value)) return [];
  if (model.value === 'auto' || model.value === '' || !SLUG.test(model.value) || /^[^/]+\/./.test(model.value))
    return [];
  const message = `${adapter.value} takes a model as provider/model`;
  return [errorAt('MODEL_SLUG', model.span, message, 'Name the provider too, or write model: auto.')];
}

/** Family and effort need a CLI that lists its models. */
export function modelFamily({ adapter, modelFamily: model }: ProfileView): Finding[] {
  if (model === null || adapter === null) return [];
  const findings: Finding[] = [];
  if (!LISTS_MODELS.includes(adapter.value)) {
    const message = `adapter ${quote(adapter.value)} cannot list its models, so family and effort cannot be looked up`;
    const hint = `Write a fixed slug or auto. Adapters that can: ${LISTS_MODELS.join(', ')}.`;
    findings.push(errorAt('MODEL_FAMILY_UNSUPPORTED', model.span, message, hint));
  }
  const { family } = model;
  if (family !== null && family.value !== '' && (family.value.length > 100 || family.value.trim() !== family.value)) {
    const message = 'the model family is too long, or begins or ends with a space';
    findings.push(errorAt('MODEL_SLUG', family.span, message, 'Write it as the CLI lists it.'));
  }
  return findings;
}

/** An effort beside the profile and one below its model would contradict each other. */
export function effortOnce({ effort, modelFamily: model }: ProfileView): Finding[] {
  if (effort === null || model === null) return [];
  const message = 'effort is given twice, here and under model';
  return [errorAt('EFFORT_CONFLICT', effort.span, message, 'Keep the one under model.')];
}

/** An effort is one word, wherever it stands. */
export function effortForm({ effort, modelFamily: model }: ProfileView): Finding[] {
  return [effort, model?.effort ?? null]
    .filter((text): text is Text => text !== null && text.value !== '')
    .filter(({ value }) => !/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/.test(value))
    .map(({ value, span }) =>
      errorAt('EFFORT_FORM', span, `${quote(value)} is not an effort`, 'Write one word, such as high.'),
    );
}

/** An effort that cannot be passed would be dropped in silence. */
export function effortPassed({ adapter, effort }: ProfileView, { customAdapters }: PolicyView): Finding[] {
  if (effort === null || adapter === null) return [];
  const custom = customAdapters?.some(({ value }) => value === adapter.value) === true && !isBuiltIn(adapter.value);
  if (!custom && !NO_EFFORT.includes(adapter.value)) return [];
  const message = `adapter ${quote(adapter.value)} has no way to pass an effort`;
  return [errorAt('EFFORT_UNSUPPORTED', effort.span, message, 'Remove effort, or name a model that carries it.')];
}
