/**
 * `agent-exec probe`: for each profile whether it can run here, in which version, and if not, why and what to do. Contacts
 * no provider, starts nothing but version and help commands, and leaves the repository alone. With `--live`, and only
 * then, cli/probe-live.ts takes over and spends quota.
 */
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { parsePolicy } from '../config/policy.ts';
import { didYouMean } from '../config/suggest.ts';
import { pathsAtBase, usesLfs } from '../git/base-tree.ts';
import { CANCEL_EXIT, type CancelSignal, EXIT } from '../model/codes.ts';
import type { Policy } from '../model/config.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { err, ok, type Result } from '../model/result.ts';
import { candidatesOf } from '../plan/candidates.ts';
import { probeAll } from '../process/probe.ts';
import { openProbeCache } from '../process/probe-cache.ts';
import { CONFIG_FILE, configDigest, readConfigFile } from '../run/config-file.ts';
import { repositoryReader } from '../run/repository-reader.ts';
import { type CallingRepository, findCallingRepository } from './calling-repository.ts';
import { diagnosticsText } from './diagnostics.ts';
import type { CliIo } from './io.ts';
import { type ProbedProfile, probeJson, probeText } from './probe-answer.ts';
import { probeLive } from './probe-live.ts';
import { liveJson } from './probe-live-answer.ts';
import { openProbePlace } from './probe-place.ts';
import { listenForSignals } from './signals.ts';

interface ProbeOptions {
  readonly repo?: string;
  readonly config?: string;
  readonly stateDir?: string;
  readonly json?: boolean;
  readonly live?: boolean;
  readonly receipts?: string;
  readonly timeout?: string;
}

const EXAMPLE = `
Examples:
  $ agent-exec probe claude codex
  PROFILE  AVAILABLE  VERSION  EXECUTABLE
  claude   yes        2.1.332  /usr/local/bin/claude
  codex    no         -        -
           EXECUTABLE_MISSING: codex was not found …

  $ agent-exec probe --live claude --receipts ../receipts
  PROFILE  RESULT  VERSION  MODEL            SECONDS
  claude   pass    2.1.332  claude-sonnet-5  9.4

--live asks each enabled profile (or each one named), one at a time, through a whole run in a temporary repository,
for one small file. Every request spends quota of the account behind it, or money where its cost is metered.

Exit codes: 0 probed (whatever was found), 2 usage, 3 invalid configuration or no repository.
With --live: 0 all passed, 4 none failed but some were unavailable, 6 some failed or never answered (a person must
look), 129/130/143 cancelled, 2 and 3 as above and nobody was asked.`;

/** The command; its exit code goes through `io`. */
export function probeCommand(io: CliIo): Command {
  return new Command('probe')
    .description('Says which profiles can run here, and why the others cannot. Contacts no provider without --live.')
    .argument('[profiles...]', 'profiles to probe (default: all; with --live: all that are enabled)')
    .option('--live', 'ask each profile for real: SPENDS QUOTA of your accounts')
    .option('--receipts <dir>', 'with --live: keep each receipt as <dir>/<profile>.json')
    .option('--timeout <seconds>', 'with --live: limit for one profile (default: that of the policy, at most 300)')
    .option('--repo <path>', 'repository (default: the one that encloses the current folder)')
    .option('--config <file>', `configuration to read instead of the repository's ${CONFIG_FILE}`)
    .option('--state-dir <path>', 'where answers are remembered (default: AGENT_EXEC_STATE_DIR, /tmp/agent-exec-<uid>)')
    .option('--json', 'one JSON object on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (profiles: string[], options: ProbeOptions) => io.exit(await probe(io, profiles, options)));
}

async function probe(io: CliIo, asked: readonly string[], options: ProbeOptions): Promise<number> {
  const idle = (['receipts', 'timeout'] as const).find((name) => options[name] !== undefined && options.live !== true);
  if (idle !== undefined) {
    io.note(`agent-exec probe: --${idle} has a meaning with --live only.\n`);
    return EXIT.usage;
  }
  const repository = await findCallingRepository(io, options);
  const read = repository.ok ? readPolicy(io, repository.value, options) : repository;
  if (!read.ok) {
    const json = options.live === true ? liveJson : probeJson;
    if (options.json === true) await io.out(json([], [], read.error));
    io.note(diagnosticsText(read.error, { enabled: false }));
    return EXIT['invalid-config'];
  }
  const { policy, digest } = read.value;
  const known = Object.keys(policy.profiles);
  const unknown = asked.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    io.note(
      `agent-exec probe: there is no profile ${JSON.stringify(unknown)}. ${didYouMean(unknown, known, 'profiles')}\n`,
    );
    return EXIT.usage;
  }
  const calledFrom = repository.ok ? repository.value : null;
  if (options.live === true) return probeLive(io, { policy, digest, asked: [...new Set(asked)], calledFrom, options });
  const notes = await repositoryNotes(calledFrom?.facts ?? null);
  const names = asked.length === 0 ? known : [...new Set(asked)];
  const probed = await probeProfiles(io, policy, names, calledFrom, options);
  if (probed.kind === 'stopped') return CANCEL_EXIT[probed.by];
  notes.push(...probed.notes);
  await io.out(options.json === true ? probeJson(probed.profiles, notes, []) : probeText(probed.profiles, notes));
  return EXIT.success;
}

interface ReadPolicy {
  readonly policy: Policy;
  readonly digest: string;
}

function readPolicy(
  io: CliIo,
  repository: CallingRepository | null,
  options: ProbeOptions,
): Result<ReadPolicy, Diagnostic[]> {
  const shownAs = options.config ?? CONFIG_FILE;
  const path =
    options.config === undefined ? join(repository?.worktree ?? '', CONFIG_FILE) : resolve(io.cwd(), shownAs);
  const bytes = readConfigFile(path, shownAs);
  if (!bytes.ok) return err([bytes.error]);
  const readFile = repository === null ? {} : { readFile: repositoryReader(repository.worktree) };
  const parsed = parsePolicy({ file: shownAs, bytes: bytes.value, ...readFile });
  return parsed.ok ? ok({ policy: parsed.value.policy, digest: configDigest(bytes.value) }) : parsed;
}

async function repositoryNotes(facts: RepositoryFacts | null): Promise<string[]> {
  if (facts === null) return [];
  const lfs = await usesLfs(facts, await pathsAtBase(facts, facts.head));
  return lfs ? ['This repository uses Git LFS: workers see pointer files, not their contents.'] : [];
}

type Probed =
  | { readonly kind: 'probed'; readonly profiles: readonly ProbedProfile[]; readonly notes: readonly string[] }
  | { readonly kind: 'stopped'; readonly by: CancelSignal };

async function probeProfiles(
  io: CliIo,
  policy: Policy,
  names: readonly string[],
  repository: CallingRepository | null,
  options: ProbeOptions,
): Promise<Probed> {
  const candidates = candidatesOf(policy, names);
  const place = await openProbePlace(io, repository, options.stateDir);
  // Probed programs sit in sessions of their own, so a Ctrl-C at the terminal reaches only us.
  const { stop, release } = listenForSignals(() => {});
  try {
    const { scratchParent, cacheFile } = place;
    const cache = openProbeCache(cacheFile, Date.now);
    const answers = await probeAll(candidates, { hostEnv: io.env, scratchParent, cache, signal: stop });
    const left = answers.flatMap(({ leftover }) => (leftover === null ? [] : [`${leftover} could not be removed.`]));
    const profiles = candidates.map((candidate, i) => ({ candidate, answer: answers[i] as (typeof answers)[number] }));
    return { kind: 'probed', profiles, notes: [...place.notes, ...left] };
  } catch (error) {
    if (stop.aborted) return { kind: 'stopped', by: stop.reason };
    throw error;
  } finally {
    release();
    await place.close();
  }
}
