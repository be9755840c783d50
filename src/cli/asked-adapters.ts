/** Whose predicate is asked: the named adapter's, or every built-in one's. A configuration is read for no other name. */
import { join, resolve } from 'node:path';
import { customAdapter } from '../adapters/custom.ts';
import { adaptersInTurn } from '../adapters/refusal-log.ts';
import { builtInAdapter, builtInAdapters } from '../adapters/registry.ts';
import { parsePolicy } from '../config/policy.ts';
import { didYouMean } from '../config/suggest.ts';
import { discoverRepository } from '../git/repository.ts';
import type { Adapter } from '../model/adapter.ts';
import type { Policy } from '../model/config.ts';
import { err, ok, type Result } from '../model/result.ts';
import { CONFIG_FILE, readConfigFile } from '../run/config-file.ts';
import { repositoryReader } from '../run/repository-reader.ts';
import { diagnosticsText } from './diagnostics.ts';
import type { CliIo } from './io.ts';
import { explainRepository } from './problems.ts';

type CustomAdapters = Policy['custom_adapters'];

/** The adapters to ask, or the words for why there is none of that name. */
export async function askedAdapters(
  io: CliIo,
  name: string | undefined,
  repo: string | undefined,
): Promise<Result<readonly Adapter[], string>> {
  if (name === undefined) return ok(adaptersInTurn);
  const builtIn = builtInAdapter(name);
  if (builtIn !== null) return ok([builtIn]);
  const custom = await customAdapters(io, repo);
  const known = custom.ok ? custom.value : {};
  const definition = Object.hasOwn(known, name) ? known[name] : undefined;
  if (definition !== undefined) return ok([customAdapter(name, definition)]);
  const unknown = `there is no adapter ${JSON.stringify(name)}. ${hint(name, Object.keys(known))}`;
  return err(custom.ok ? unknown : `${unknown}\nCustom adapters are not known: ${custom.error}`);
}

function hint(name: string, custom: readonly string[]): string {
  const owner = builtInAdapters.find(({ programs }) => programs.includes(name));
  if (owner !== undefined) return `Did you mean ${owner.name}? Its program is ${name}.`;
  return didYouMean(name, [...builtInAdapters.map((adapter) => adapter.name), ...custom], 'adapters');
}

/** Those of the repository's configuration, or why it cannot be read. */
async function customAdapters(io: CliIo, repo: string | undefined): Promise<Result<CustomAdapters, string>> {
  const found = await discoverRepository(resolve(io.cwd(), repo ?? '.'), io.env);
  const home = found.ok ? found.value : found.error;
  // A policy needs no commit.
  if (!('worktree' in home)) return err(explainRepository(home).message);
  const { worktree } = home;
  const bytes = readConfigFile(join(worktree, CONFIG_FILE), CONFIG_FILE);
  if (!bytes.ok) return err(diagnosticsText([bytes.error], { enabled: false }).trimEnd());
  const parsed = parsePolicy({ file: CONFIG_FILE, bytes: bytes.value, readFile: repositoryReader(worktree) });
  if (parsed.ok) return ok(parsed.value.policy.custom_adapters);
  return err(`its configuration is invalid.\n${diagnosticsText(parsed.error, { enabled: false }).trimEnd()}`);
}
