/** `agent-exec receipt card`: a run, or one that is still to come, as Markdown for a task card or a pull request. */
import { join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { parsePolicy } from '../config/policy.ts';
import { discoverRepository } from '../git/repository.ts';
import { EXIT } from '../model/codes.ts';
import { roleOf } from '../model/config.ts';
import { err, ok, type Result } from '../model/result.ts';
import { readStrictJson, utf8Text } from '../model/strict-json.ts';
import { neutralise } from '../receipt/neutralise.ts';
import { checkDigest, receiptOf } from '../receipt/receipt.ts';
import { CONFIG_FILE, configDigest, readConfigFile } from '../run/config-file.ts';
import { repositoryReader } from '../run/repository-reader.ts';
import { newCard, receiptCard } from './card.ts';
import { LANGUAGES, type Language } from './card-labels.ts';
import type { CliIo } from './io.ts';
import { explainRepository } from './problems.ts';
import { type NoSource, receiptSource } from './receipt-source.ts';

interface CardOptions {
  readonly new?: boolean;
  readonly role?: string;
  readonly lang: Language;
  readonly repo?: string;
  readonly stateDir?: string;
}

const AFTER_HELP = `
Examples:
  $ agent-exec receipt card last > card.md
  $ agent-exec receipt card receipt.json --lang zh
  $ agent-exec receipt card --new --role repair      before the run: every attempt NOT_RUN

Each fact is marked: enforced (made or measured by agent-exec), self-reported (the worker's word),
gate (a person or CI must still check it). The card itself proves nothing: agent-exec receipt verify does.

Exit codes: 0, 2 usage, 3 no such receipt, or no configuration that can be read, 6 the receipt was
changed after it was written: the card's first line says so.`;

/** The command; its exit code goes through `io`. */
export function cardCommand(io: CliIo): Command {
  const command = new Command('card')
    .description('Prints Markdown for a task card or a pull request.')
    .argument('[receipt]', 'file, - or run (default: last)')
    .option('--new', 'a card for a run that is still to come')
    .option('--role <role>', 'the role of a new card')
    .addOption(new Option('--lang <language>', 'its language').choices(LANGUAGES).default('en'))
    .option('--repo <path>', 'repository (default: the one that encloses the current folder)')
    .option('--state-dir <dir>', 'private state root (default: AGENT_EXEC_STATE_DIR, /tmp/agent-exec-<uid>)')
    .addHelpText('after', AFTER_HELP);
  return command.action(async (wanted: string | undefined, options: CardOptions) => {
    const usage = (message: string): never => command.error(`error: ${message}`, { exitCode: EXIT.usage });
    if (options.new === true) {
      if (options.role === undefined) usage('--new needs --role: whose card is it?');
      if (wanted !== undefined) usage('--new is about a run that is still to come: name no receipt.');
    } else if (options.role !== undefined) usage('--role goes with --new: a receipt says its own.');
    const made =
      options.new === true
        ? await cardOfRole(io, options.role ?? '', options)
        : await cardOf(io, wanted ?? 'last', options);
    if (!made.ok) {
      io.exit(made.error.exitCode);
      io.note(`agent-exec receipt card: ${neutralise(made.error.message).replaceAll('\n', '\\n')}\n`);
      return;
    }
    io.exit(made.value.exitCode);
    await io.out(made.value.card);
  });
}

interface Made {
  readonly card: string;
  readonly exitCode: number;
}

const refused = (message: string, exitCode: number = EXIT['invalid-config']): Result<never, NoSource> =>
  err({ message, exitCode });

async function cardOf(io: CliIo, wanted: string, options: CardOptions): Promise<Result<Made, NoSource>> {
  const source = await receiptSource(io, wanted, options);
  if (!source.ok) return source;
  const { shownAs, bytes } = source.value;
  const text = utf8Text(bytes);
  const data = text.ok ? readStrictJson(text.value) : text;
  if (!data.ok) {
    // Such a text says different things to different readers: it is no receipt that this tool wrote.
    const code = data.error.kind === 'duplicate-member' ? EXIT.blocked : EXIT['invalid-config'];
    return refused(`${shownAs} is no receipt: ${data.error.message}.`, code);
  }
  const receipt = receiptOf(data.value);
  if (!receipt.ok) return refused(`${shownAs} is no receipt: ${receipt.error}.`);
  const holds = checkDigest(receipt.value);
  const card = receiptCard(receipt.value, shownAs, holds, options.lang);
  return ok({ card, exitCode: holds ? EXIT.success : EXIT.blocked });
}

async function cardOfRole(io: CliIo, name: string, options: CardOptions): Promise<Result<Made, NoSource>> {
  const found = await discoverRepository(resolve(io.cwd(), options.repo ?? '.'), io.env);
  const repository = found.ok ? found.value : found.error.kind === 'unborn-head' ? found.error : null;
  if (repository === null) return refused(found.ok ? '' : explainRepository(found.error).message);
  const bytes = readConfigFile(join(repository.worktree, CONFIG_FILE), CONFIG_FILE);
  if (!bytes.ok) return refused(`${CONFIG_FILE}: ${bytes.error.message}.`);
  const readFile = repositoryReader(repository.worktree);
  const parsed = parsePolicy({ file: CONFIG_FILE, bytes: bytes.value, readFile });
  if (!parsed.ok) {
    const [first] = parsed.error;
    return refused(
      `${CONFIG_FILE}:${first?.line}: ${first?.message}. agent-exec validate tells all that is wrong with it.`,
    );
  }
  const { policy } = parsed.value;
  const role = roleOf(policy, name);
  if (role === null)
    return refused(
      `${CONFIG_FILE} has no role ${JSON.stringify(name)}; its roles are ${Object.keys(policy.roles).join(', ')}.`,
    );
  const config = { path: CONFIG_FILE, digest: configDigest(bytes.value), policy, role };
  return ok({ card: newCard(config, options.lang), exitCode: EXIT.success });
}
