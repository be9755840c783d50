/** The journey goes one way: what each folder of src/ may import, and where effects may live. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const SRC = new URL('../src', import.meta.url).pathname;

/** Folder -> folders of src/ it may import beside itself. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  model: [],
  config: ['model'],
  unit: ['model'],
  adapters: ['model'],
  plan: ['model', 'config', 'unit', 'adapters'],
  verdict: ['model'],
  receipt: ['model', 'verdict'],
  git: ['model'],
  process: ['model', 'adapters'],
  workspace: ['model', 'unit', 'git'],
  store: ['model', 'receipt', 'process'],
  run: ['model', 'config', 'unit', 'adapters', 'plan', 'verdict', 'receipt', 'git', 'process', 'workspace', 'store'],
  cli: [
    'model',
    'config',
    'unit',
    'adapters',
    'plan',
    'verdict',
    'receipt',
    'git',
    'process',
    'workspace',
    'store',
    'run',
  ],
  '.': ['cli'],
};

/** Folder -> packages and node modules it may import. Folders with effects may use any node module. */
const PURE_PACKAGES: Record<string, readonly string[]> = {
  model: ['zod'],
  config: ['yaml', 'mdast-util-from-markdown', 'zod'],
  unit: ['minimatch', 'yaml', 'zod', 'node:crypto'],
  adapters: ['zod'],
  plan: ['node:crypto'],
  verdict: [],
  receipt: ['canonicalize', 'zod', 'node:crypto'],
};

const files = (readdirSync(SRC, { recursive: true }) as string[]).filter((file) => file.endsWith('.ts'));

interface Import {
  readonly file: string;
  readonly from: string;
  readonly specifier: string;
}

const imports: Import[] = files.flatMap((file) => {
  const text = readFileSync(join(SRC, file), 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => ({
    file,
    from: file.includes('/') ? (file.split('/')[0] as string) : '.',
    specifier: match[1] as string,
  }));
});

describe('imports', () => {
  test('there is something to check', () => {
    expect(files.length).toBeGreaterThan(20);
    expect(imports.length).toBeGreaterThan(files.length);
  });

  test('every folder is in the table', () => {
    expect(new Set(files.map((file) => (file.includes('/') ? file.split('/')[0] : '.')))).toEqual(
      new Set(Object.keys(MAY_IMPORT)),
    );
  });

  test('go one way', () => {
    const forbidden = imports
      .filter(({ specifier }) => specifier.startsWith('.'))
      .flatMap(({ file, from, specifier }) => {
        const target = normalize(join(dirname(file), specifier));
        const folder = target.includes('/') ? (target.split('/')[0] as string) : '.';
        return folder === from || MAY_IMPORT[from]?.includes(folder) ? [] : [`${file} -> ${specifier}`];
      });
    expect(forbidden).toEqual([]);
  });

  test('pure folders import no effect', () => {
    const forbidden = imports
      .filter(({ specifier }) => !specifier.startsWith('.'))
      .flatMap(({ file, from, specifier }) => {
        const allowed = PURE_PACKAGES[from];
        return allowed === undefined || allowed.includes(specifier) ? [] : [`${file} -> ${specifier}`];
      });
    expect(forbidden).toEqual([]);
  });

  test('only git/run.ts runs git, only it and process/ start processes', () => {
    const starters = imports.filter(({ specifier }) => ['execa', 'node:child_process'].includes(specifier));
    expect(starters.filter(({ from, file }) => from !== 'process' && file !== 'git/run.ts')).toEqual([]);
  });

  test('the outside is read only in cli/ and main.ts', () => {
    const offenders = files.filter((file) => {
      if (file.startsWith('cli/') || file === 'main.ts') return false;
      return /\bprocess\.(env|exit|exitCode|argv|stdout|stderr|stdin)\b|\bconsole\./.test(
        readFileSync(join(SRC, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, ''),
      );
    });
    // git/run.ts takes PATH, and nothing else, from its own environment.
    expect(offenders.filter((file) => file !== 'git/run.ts')).toEqual([]);
  });

  test('no file grows into a house of its own', () => {
    const large = files.filter((file) => readFileSync(join(SRC, file), 'utf8').split('\n').length > 400);
    expect(large.map((file) => relative('.', file))).toEqual([]);
  });
});
