import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodePath, type RepoPath } from '../../src/model/path.ts';
import { isExecutedPath } from '../../src/unit/executed-paths.ts';
import { isDotGit } from '../../src/unit/git-names.ts';
import { compileScope } from '../../src/unit/scope.ts';

const allows = (entries: readonly string[], path: string, directories: readonly string[] = []): boolean =>
  compileScope(entries, (entry) => directories.includes(entry)).allows(path as RepoPath);

describe('one entry', () => {
  test.each([
    // Literals.
    ['src/a.ts', 'src/a.ts', true],
    ['src/a.ts', 'src/a.tsx', false],
    ['src/a.ts', 'src/A.ts', false],
    ['src/a.ts', 'x/src/a.ts', false],
    ['src', 'src/a.ts', false],
    ['app/[slug]/page.tsx', 'app/[slug]/page.tsx', true],
    ['a*b', 'a*b', true],
    ['a[', 'a[', true],
    ['{a,b}.ts', '{a,b}.ts', true],
    ['{a,b}.ts', 'a.ts', false],
    ['+(a|b)', 'a', false],
    ['{a,b}*', 'ax', false],
    ['{a,b}*', '{a,b}x', true],
    ['+(a|b)*', 'ab', false],
    ['+(a|b)*', '+(a|b)c', true],
    ['#*', '#x', true],
    ['!*', 'x', false],
    ['!*', '!x', true],
    ['!a', 'b', false],
    ['!a', '!a', true],
    ['#a', '#a', true],
    // Directories.
    ['src/', 'src/a.ts', true],
    ['src/', 'src/x/.y/z', true],
    ['src/', 'src', false],
    ['src/', 'srcx', false],
    ['src/', 'srcx/a', false],
    ['a/b/', 'a/c', false],
    ['pkg/*/', 'pkg/one/deep/file', true],
    ['pkg/*/', 'pkg/one', false],
    ['app/[slug]/', 'app/[slug]/page.tsx', true],
    // Stars.
    ['*', 'a', true],
    ['*', '.hidden', true],
    ['*', 'a/b', false],
    ['src/*.ts', 'src/.ts', true],
    ['src/*.ts', 'src/x/a.ts', false],
    ['src/*', 'src/line\nbreak', true],
    ['src/*', 'src', false],
    ['a*b*c', 'aXbYc', true],
    ['a*b*c', 'abcb', false],
    ['a**b', 'aXb', true],
    ['a**b', 'a/b', false],
    // Globstars.
    ['**', 'a', true],
    ['**', 'a/b/.c', true],
    ['src/**', 'src/a/b', true],
    ['src/**', 'src/.a', true],
    ['src/**', 'src', false],
    ['src/**', 'srcx/a', false],
    ['**/a.ts', 'a.ts', true],
    ['**/a.ts', 'x/y/a.ts', true],
    ['**/a.ts', 'xa.ts', false],
    ['a/**/b', 'a/b', true],
    ['a/**/b', 'a/x/y/b', true],
    ['a/**/b', 'a/x/bc', false],
    ['a/**/b/**/c', 'a/b/x/b/c', true],
    ['a/**/**/c', 'a/c', true],
    ['**/', 'a', true],
    ['**/', 'a/b', true],
    ['**/test/**', 'x/test/y', true],
    ['**/test/**', 'x/test', false],
    // Question marks and classes.
    ['?', 'a', true],
    ['?', '😀', true],
    ['?', 'ab', false],
    ['?', '/', false],
    ['a?b', 'a/b', false],
    ['[abc]', 'b', true],
    ['[a-c]x', 'bx', true],
    ['[a-c]', 'd', false],
    ['[!a-c]', 'd', true],
    ['[^a-c]', 'a', false],
    ['[]a]', ']', true],
    ['[!]a]', 'b', true],
    ['[!]a]', ']', false],
    ['[a-]', '-', true],
    ['[-a]', '-', true],
    ['[z-a]', 'm', false],
    ['[*]', '*', true],
    ['[*]', 'x', false],
    ['[😀-😂]', '😁', true],
    ['[a/b]', 'a', false],
    ['[[:digit:]]', '7', true],
    // Never, whatever is allowed.
    ['**', '.git/config', false],
    ['**', 'a/.GIT/config', false],
    ['**', '', false],
    ['**', 'a/../b', false],
    ['**', '/a', false],
    ['**', 'a//b', false],
    ['**', './a', false],
    // What git and CI execute: only by its own name.
    ['**', '.github/workflows/ci.yml', false],
    ['.github/', '.github/workflows/ci.yml', false],
    ['.github/', '.github/CODEOWNERS', true],
    ['.github/workflows/', '.github/workflows/ci.yml', false],
    ['.github/workflows/*.yml', '.github/workflows/ci.yml', false],
    ['.github/workflows/ci.yml', '.github/workflows/ci.yml', true],
    ['.gitattributes', '.gitattributes', true],
    ['.gitattributes', 'sub/.gitattributes', false],
    ['sub/', 'sub/.gitattributes', false],
    ['*', 'AGENT-EXECUTION.md', false],
    ['AGENT-EXECUTION.md', 'AGENT-EXECUTION.md', true],
    ['AGENT-EXECUTION.md', 'agent-execution.md', false],
    ['.husky/', '.husky/pre-commit', false],
    ['.husky/pre-commit', '.husky/pre-commit', true],
  ])('%s over %j: %s', (entry, path, expected) => {
    expect(allows([entry], path)).toBe(expected);
  });
});

test('an entry that is a directory at base covers what is under it, and not its own place', () => {
  expect(allows(['src'], 'src/deep/a.ts', ['src'])).toBe(true);
  expect(allows(['src'], 'src', ['src'])).toBe(false);
  expect(allows(['src'], 'src')).toBe(true);
  expect(allows(['app/[slug]'], 'app/[slug]/page.tsx', ['app/[slug]'])).toBe(true);
  expect(allows(['.husky'], '.husky/pre-commit', ['.husky'])).toBe(false);
  expect(allows(['.husky'], '.husky', ['.husky'])).toBe(false);
});

test('names that are not UTF-8 are matched byte by byte', () => {
  const path = decodePath(Buffer.from([0x73, 0x2f, 0xff, 0xfe, 0x2e, 0x74]));
  const scope = (entry: string) => compileScope([entry], () => false).allows(path);
  expect(scope('s/')).toBe(true);
  expect(scope('s/*.t')).toBe(true);
  expect(scope('s/??.t')).toBe(true);
  expect(scope('s/?.t')).toBe(false);
});

test('a hostile name against an honest pattern costs nothing', () => {
  const started = performance.now();
  const name = 'a'.repeat(4000);
  expect(allows(['*a*a*a*a*a*a*a*a*a*a*a*a*b'], name)).toBe(false);
  expect(allows([`${'**/a/'.repeat(30)}b`], `${'a/'.repeat(2000)}c`)).toBe(false);
  expect(allows([`${'*'.repeat(2000)}b`], name)).toBe(false);
  expect(allows([`${'[a-z]*'.repeat(600)}!`], name)).toBe(false);
  expect(performance.now() - started).toBeLessThan(15_000);
});

/**
 * The matcher once more, in the plainest way: recursion over the characters of the whole path, no segments, no compiling.
 * `entry` and `path` are lists of characters.
 */
function naive(entry: readonly string[], path: readonly string[], atStart = true): boolean {
  const [head, ...rest] = entry;
  const [char, ...after] = path;
  if (head === undefined) return char === undefined;
  if (atStart && head === '*' && entry[1] === '*' && (entry[2] === '/' || entry.length === 2)) {
    if (entry.length === 2) return char !== undefined;
    const below = entry.slice(3);
    if (naive(below, path, true)) return true;
    const slash = path.indexOf('/');
    return slash >= 0 && naive(entry, path.slice(slash + 1), true);
  }
  if (head === '*')
    return naive(rest, path, false) || (char !== undefined && char !== '/' && naive(entry, after, false));
  if (head === '?') return char !== undefined && char !== '/' && naive(rest, after, false);
  if (head === '[') {
    const segmentEnd = entry.indexOf('/') < 0 ? entry.length : entry.indexOf('/');
    const from = entry[1] === '!' || entry[1] === '^' ? 2 : 1;
    const close = entry.indexOf(']', from + 1);
    if (close > 0 && close < segmentEnd) {
      if (char === undefined || char === '/') return false;
      let found = false;
      let members = entry.slice(from, close);
      while (members.length > 0) {
        const [low = '', dash, high] = members;
        const range = dash === '-' && high !== undefined;
        if (range ? low <= char && char <= high : low === char) found = true;
        members = members.slice(range ? 3 : 1);
      }
      return found === (from === 1) && naive(entry.slice(close + 1), after, false);
    }
  }
  return head === char && naive(rest, after, head === '/');
}

function naiveAllows(entries: readonly string[], path: string): boolean {
  if (path.split('/').some((s) => s === '' || s === '.' || s === '..' || isDotGit(s))) return false;
  return entries.some((entry) => {
    if (entry === path) return true;
    if (isExecutedPath(path)) return false;
    if (!entry.endsWith('/')) return naive(Array.from(entry), Array.from(path));
    return path.startsWith(entry) || naive(Array.from(`${entry}**`), Array.from(path));
  });
}

const segment = fc.stringMatching(/^[ab.*?[\]!-]{1,5}$/);
const name = fc.stringMatching(/^[ab.\n[\]!*-]{1,4}$/);
const entry = fc
  .tuple(
    fc.array(fc.oneof(segment, fc.constant('**'), fc.constantFrom('a', 'b', '*', '.husky')), {
      minLength: 1,
      maxLength: 4,
    }),
    fc.boolean(),
  )
  .map(([segments, slash]) => segments.join('/') + (slash ? '/' : ''))
  .filter((text) => !text.split('/').some((s) => s === '.' || s === '..'));
const path = fc
  .array(fc.oneof(name, fc.constantFrom('a', 'b', '.gitattributes', '.husky')), { minLength: 1, maxLength: 5 })
  .map((segments) => segments.join('/'));

describe('laws', () => {
  test('agrees with the plainest matcher', () => {
    let hits = 0;
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 3 }), path, (entries, changed) => {
        const expected = naiveAllows(entries, changed);
        if (expected) hits++;
        expect(allows(entries, changed)).toBe(expected);
      }),
      { numRuns: 20_000 },
    );
    expect(hits).toBeGreaterThan(1000);
  });

  test('more entries never allow less, and their order does not matter', () => {
    fc.assert(
      fc.property(
        fc.array(entry, { minLength: 1, maxLength: 3 }),
        fc.array(entry, { maxLength: 3 }),
        path,
        (some, more, changed) => {
          const whole = allows([...some, ...more], changed);
          if (allows(some, changed)) expect(whole).toBe(true);
          expect(allows([...more, ...some], changed)).toBe(whole);
          expect(whole).toBe(allows(some, changed) || allows(more, changed));
        },
      ),
      { numRuns: 3000 },
    );
  });

  test('what a directory covers, it covers at any depth; nothing beside it', () => {
    fc.assert(
      fc.property(path, path, name, (folder, below, beside) => {
        const under = `${folder}/${below}`;
        const legal = !under.split('/').some((s) => s === '.' || s === '..' || isDotGit(s)) && !isExecutedPath(under);
        expect(allows([`${folder}/`], under)).toBe(legal);
        expect(allows([folder], under, [folder])).toBe(legal);
        if (!/[*?[]/.test(folder)) expect(allows([`${folder}/`], `${folder}${beside}`)).toBe(false);
      }),
    );
  });

  test('an entry always allows its own name', () => {
    fc.assert(
      fc.property(path, (changed) => {
        const legal = !changed.split('/').some((s) => s === '.' || s === '..');
        expect(allows([changed], changed)).toBe(legal);
      }),
    );
  });
});
