/** Tree -> policy by the zod schema of the model; every issue gets the place of the value it is about. */
import * as z from 'zod';
import { NAME, type Policy, policy, profile, roleMapping } from '../model/config.ts';
import { errorAt, type Finding, quote, type Span } from './finding.ts';
import { didYouMean } from './suggest.ts';
import { type Entry, entryOf, type TreeNode } from './tree.ts';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];
type MayBeLost = (key: string) => boolean;

export interface ShapeReading {
  /** null where the tree has not the shape of a policy. */
  readonly policy: Policy | null;
  readonly findings: readonly Finding[];
}

/** `mayBeLost`: a required key that may stand in an unread part of the text is not reported as missing. */
export function readShape(tree: TreeNode, mayBeLost: MayBeLost): ShapeReading {
  const parsed = policy.safeParse(plainValue(tree, []), { reportInput: true });
  if (parsed.success) return { policy: parsed.data, findings: [] };
  const findings = parsed.error.issues
    .flatMap((issue) => leafIssues(issue, []))
    .flatMap((issue) => findingsOf(issue, tree, mayBeLost));
  return { policy: null, findings };
}

/** The tree as JavaScript values. A known optional key without a value counts as left out. */
function plainValue(node: TreeNode, path: Path): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'unreadable') return undefined;
  if (node.kind === 'list') return node.items.map((item, index) => plainValue(item, [...path, index]));
  const shape = shapeAt(path);
  const present = node.entries.filter(({ key, value }) => {
    const isEmpty = value.kind === 'scalar' && value.value === null;
    return !(value.kind === 'unreadable' || (isEmpty && shape !== null && Object.hasOwn(shape, key)));
  });
  return Object.fromEntries(present.map(({ key, value }) => [key, plainValue(value, [...path, key])]));
}

const SHAPES: readonly (readonly [depth: number, first: string | null, shape: Record<string, z.ZodType>])[] = [
  [0, null, policy.shape],
  [1, 'execution', policy.shape.execution.shape],
  [2, 'roles', roleMapping.shape],
  [2, 'profiles', profile.shape],
  [3, 'profiles', { family: z.string(), effort: z.string() }],
  [2, 'custom_adapters', policy.shape.custom_adapters.unwrap().valueType.shape],
];

/** The fixed keys of the mapping at a path; null where people choose the keys, or where no mapping belongs. */
function shapeAt(path: Path): Record<string, z.ZodType> | null {
  const found = SHAPES.find(([depth, first]) => path.length === depth && (first === null || path[0] === first));
  return found?.[2] ?? null;
}

/** Issues of a union are those of the alternative that a person meant: the one that got furthest into the value. */
function leafIssues(issue: Issue, prefix: Path): Issue[] {
  const path = [...prefix, ...issue.path];
  if (issue.code !== 'invalid_union') return [{ ...issue, path } as Issue];
  const fitting = issue.errors.find((alternative) => alternative.every((inner) => !isTypeMismatch(inner)));
  if (fitting === undefined) return [{ ...issue, path } as Issue];
  return fitting.flatMap((inner) => leafIssues(inner, path));
}

const isTypeMismatch = (issue: Issue): boolean => issue.code === 'invalid_type' && issue.path.length === 0;

interface Target {
  readonly node: TreeNode;
  /** Where the key of the value stands; the value's own place for list items. */
  readonly span: Span;
  /** False where the path's last key is not in the tree. */
  readonly present: boolean;
}

function locate(tree: TreeNode, path: Path): Target {
  let target: Target = { node: tree, span: tree.span, present: true };
  for (const part of path) {
    const { node } = target;
    const entry: Entry | undefined = entryOf(node, String(part));
    const item = node.kind === 'list' && typeof part === 'number' ? node.items[part] : undefined;
    if (entry !== undefined) target = { node: entry.value, span: entry.keySpan, present: true };
    else if (item !== undefined) target = { node: item, span: item.span, present: true };
    else return { ...target, present: false };
  }
  return target;
}

const EXPECTED_TYPE: Record<string, string> = {
  string: 'text',
  int: 'a whole number',
  number: 'a whole number',
  boolean: 'true or false',
  array: 'a list such as [first, second]',
  object: 'a mapping (one indented key: value a line)',
  record: 'a mapping (one indented key: value a line)',
};

const labelOf = (path: Path): string =>
  path.reduce<string>((label, part) => {
    if (typeof part === 'number') return `${label}[${part}]`;
    return label === '' ? String(part) : `${label}.${String(part)}`;
  }, '') || 'the block';

function findingsOf(issue: Issue, tree: TreeNode, mayBeLost: MayBeLost): Finding[] {
  const target = locate(tree, issue.path);
  if (target.node.kind === 'unreadable') return [];
  if (issue.code === 'unrecognized_keys') return unknownKeys(issue.keys, issue.path, target.node);
  if (issue.code === 'invalid_key') return [invalidName(target, String(issue.path.at(-1)))];
  const isEmpty = target.node.kind === 'scalar' && target.node.value === null;
  const isList = typeof issue.path.at(-1) === 'number';
  if (!target.present || (isEmpty && !isList && issue.code !== 'invalid_union')) {
    return !target.present && mayBeLost(String(issue.path.at(-1))) ? [] : [missingKey(issue, target)];
  }
  return [valueFinding(issue, target)];
}

function unknownKeys(keys: readonly string[], path: Path, node: TreeNode): Finding[] {
  const known = Object.keys(shapeAt(path) ?? {});
  return keys.flatMap((key) => {
    const entry = entryOf(node, key);
    const where = path.length === 0 ? 'at the top level' : `in ${labelOf(path)}`;
    const hint = didYouMean(key, known, 'keys here');
    return entry === undefined
      ? []
      : [errorAt('UNKNOWN_KEY', entry.keySpan, `unknown key ${quote(key)} ${where}`, hint)];
  });
}

const NAME_HINT = 'A name is lower case: a letter, then letters, digits and hyphens, at most 32 characters.';

function invalidName(target: Target, name: string): Finding {
  return errorAt('INVALID_NAME', target.span, `${quote(name)} is not a valid name`, NAME_HINT);
}

function missingKey(issue: Issue, target: Target): Finding {
  const parent = labelOf(issue.path.slice(0, -1));
  const key = String(issue.path.at(-1) ?? '');
  const message = target.present
    ? `${labelOf(issue.path)} has no value`
    : `${parent} lacks the required key ${quote(key)}`;
  return errorAt('MISSING_KEY', target.span, message, expectation(issue));
}

const shown = (node: TreeNode): string =>
  node.kind === 'scalar'
    ? typeof node.value === 'string'
      ? quote(node.value)
      : String(node.value)
    : `a ${node.kind === 'map' ? 'mapping' : node.kind}`;

function expectation(issue: Issue): string {
  if (issue.code === 'invalid_value') return `Write ${issue.values.map(String).join(' or ')}.`;
  if (issue.code === 'invalid_type') return `It must be ${EXPECTED_TYPE[issue.expected] ?? issue.expected}.`;
  if (issue.code === 'invalid_union') return 'It must be one of the forms that docs/configuration.md shows.';
  return 'See docs/configuration.md.';
}

function valueFinding(issue: Issue, target: Target): Finding {
  const { node } = target;
  const label = labelOf(issue.path);
  const span = node.span;
  switch (issue.code) {
    case 'invalid_value': {
      if (label === 'schema') {
        const message = `schema ${shown(node)} is not supported`;
        return errorAt('UNSUPPORTED_SCHEMA', span, message, expectation(issue));
      }
      return errorAt('INVALID_VALUE', span, `${label} may not be ${shown(node)}`, expectation(issue));
    }
    case 'too_small':
    case 'too_big': {
      if (node.kind !== 'scalar' || typeof node.value !== 'number') {
        return errorAt('EMPTY_VALUE', span, `${label} is empty`, 'Give it at least one item, or leave the key out.');
      }
      const bound = issue.code === 'too_small' ? `at least ${issue.minimum}` : `at most ${issue.maximum}`;
      return errorAt('OUT_OF_RANGE', span, `${label} is ${shown(node)}`, `It must be ${bound}.`);
    }
    case 'invalid_format': {
      const isName = 'pattern' in issue && issue.pattern === String(NAME);
      if (isName) return errorAt('INVALID_NAME', span, `${label} is not a valid name`, NAME_HINT);
      return errorAt('INVALID_VALUE', span, `${label} is not valid`, 'It must be the name of an environment variable.');
    }
    default:
      return errorAt('WRONG_TYPE', span, `${label} is ${shown(node)}`, typeHint(issue, node));
  }
}

function typeHint(issue: Issue, node: TreeNode): string {
  const isText = issue.code === 'invalid_type' && issue.expected === 'string';
  if (isText && node.kind === 'scalar') return `It must be text; put it in quotes: '${String(node.value)}'.`;
  return expectation(issue);
}
