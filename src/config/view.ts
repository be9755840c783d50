/**
 * The parts of a tree that the rules speak of, with their places. Takes what has the right form and leaves out the rest
 * (which shape.ts reports), so that rules also find problems in a block that is wrong elsewhere.
 */
import type { Span } from './finding.ts';
import { type Entry, entryOf, type TreeNode } from './tree.ts';

export interface Text {
  readonly value: string;
  readonly span: Span;
}
export interface RoleView extends Text {
  readonly candidates: readonly Text[];
  /** False where the candidates could not be read as a list. */
  readonly listsCandidates: boolean;
  readonly instructions: Text | null;
  readonly result: Text | null;
}
export interface ProfileView extends Text {
  readonly adapter: Text | null;
  readonly executable: Text | null;
  readonly model: Text | null;
  /** `model` as a mapping: its key's place and its two values. */
  readonly modelFamily: { readonly span: Span; readonly family: Text | null; readonly effort: Text | null } | null;
  readonly effort: Text | null;
  readonly enabled: boolean;
}
export interface AdapterView extends Text {
  /** The four argv lists, by key. */
  readonly argv: readonly { readonly key: string; readonly span: Span; readonly items: readonly Text[] }[];
  readonly promptTransport: string | null;
  readonly passEnv: readonly Text[];
  readonly requiredHelp: readonly Text[];
  readonly refusalPrefixes: readonly Text[];
  readonly refusalPrefixesSpan: Span | null;
  readonly refusalSource: Text | null;
}
export interface PolicyView {
  /** null where the key is missing or not a mapping: then nothing is known of what it holds. */
  readonly roles: readonly RoleView[] | null;
  readonly profiles: readonly ProfileView[] | null;
  readonly customAdapters: readonly AdapterView[] | null;
  readonly rolesSpan: Span | null;
  readonly setup: readonly (readonly Text[])[];
  readonly numbers: ReadonlyMap<string, { readonly value: number; readonly span: Span }>;
}

export const ARGV_KEYS = ['base_argv', 'run_everything_argv', 'workspace_argv', 'model_argv'] as const;

const textOf = (node: TreeNode | undefined): Text | null =>
  node?.kind === 'scalar' && typeof node.value === 'string' ? { value: node.value, span: node.span } : null;

const textAt = (node: TreeNode, key: string): Text | null => textOf(entryOf(node, key)?.value);

const texts = (node: TreeNode | undefined): Text[] =>
  node?.kind === 'list' ? node.items.map(textOf).filter((text) => text !== null) : [];

const textsAt = (node: TreeNode, key: string): Text[] => texts(entryOf(node, key)?.value);

/** What of the tree has the form that a rule needs; the rest is null or left out, and the shape's findings say why. */
export function viewOf(tree: TreeNode): PolicyView {
  const named = <T>(key: string, read: (entry: Entry) => T): T[] | null => {
    const value = entryOf(tree, key)?.value;
    return value?.kind === 'map' ? value.entries.map(read) : null;
  };
  const execution = entryOf(tree, 'execution')?.value;
  const setup = entryOf(execution, 'setup')?.value;
  const adapters = entryOf(tree, 'custom_adapters')?.value;
  const noAdapters = adapters === undefined || (adapters.kind === 'scalar' && adapters.value === null);
  return {
    roles: named('roles', roleView),
    profiles: named('profiles', profileView),
    customAdapters: noAdapters ? [] : named('custom_adapters', adapterView),
    rolesSpan: entryOf(tree, 'roles')?.keySpan ?? null,
    setup: setup?.kind === 'list' ? setup.items.map(texts) : [],
    numbers: numbersOf(execution),
  };
}

function numbersOf(execution: TreeNode | undefined): PolicyView['numbers'] {
  const found = new Map<string, { value: number; span: Span }>();
  for (const { key, value } of execution?.kind === 'map' ? execution.entries : []) {
    if (value.kind === 'scalar' && typeof value.value === 'number')
      found.set(key, { value: value.value, span: value.span });
  }
  return found;
}

function roleView({ key, keySpan, value }: Entry): RoleView {
  const candidates = value.kind === 'list' ? value : entryOf(value, 'candidates')?.value;
  return {
    value: key,
    span: keySpan,
    candidates: texts(candidates),
    listsCandidates: candidates?.kind === 'list',
    instructions: textAt(value, 'instructions'),
    result: textAt(value, 'result'),
  };
}

function profileView({ key, keySpan, value }: Entry): ProfileView {
  const model = entryOf(value, 'model');
  const enabled = entryOf(value, 'enabled')?.value;
  return {
    value: key,
    span: keySpan,
    adapter: textAt(value, 'adapter'),
    executable: textAt(value, 'executable'),
    model: textOf(model?.value),
    modelFamily:
      model?.value.kind === 'map'
        ? { span: model.keySpan, family: textAt(model.value, 'family'), effort: textAt(model.value, 'effort') }
        : null,
    effort: textAt(value, 'effort'),
    enabled: !(enabled?.kind === 'scalar' && enabled.value === false),
  };
}

function adapterView({ key, keySpan, value }: Entry): AdapterView {
  const argv = ARGV_KEYS.flatMap((name) => {
    const entry = entryOf(value, name);
    return entry === undefined ? [] : [{ key: name, span: entry.keySpan, items: texts(entry.value) }];
  });
  return {
    value: key,
    span: keySpan,
    argv,
    promptTransport: textAt(value, 'prompt_transport')?.value ?? null,
    passEnv: textsAt(value, 'pass_env'),
    requiredHelp: textsAt(value, 'required_help'),
    refusalPrefixes: textsAt(value, 'refusal_prefixes'),
    refusalPrefixesSpan: entryOf(value, 'refusal_prefixes')?.keySpan ?? null,
    refusalSource: textAt(value, 'refusal_source'),
  };
}
