/**
 * The command line: one commander program, one file a command, each loaded only when asked for. Usage errors exit with 2;
 * anything that escapes a command is a bug and exits with 1 and one line.
 */
import { Command, CommanderError } from 'commander';
import { EXIT } from '../model/codes.ts';
import { neutralise } from '../receipt/neutralise.ts';
import { type CliIo, CurrentFolderGone } from './io.ts';
import { VERSION } from './version.ts';

interface CommandEntry {
  readonly about: string;
  readonly load: (io: CliIo) => Promise<Command>;
  /** Exit code of a bug, where the usual one is an answer of the command. */
  readonly bugExit?: number;
}

/** Name -> what it is for, and how it is loaded. */
const COMMANDS: Record<string, CommandEntry> = {
  validate: {
    about: 'check AGENT-EXECUTION.md, all findings at once',
    load: async (io) => (await import('./validate.ts')).validateCommand(io),
  },
  probe: {
    about: 'which profiles can run here, and why not',
    load: async (io) => (await import('./probe.ts')).probeCommand(io),
  },
  run: {
    about: 'hand one unit to the first candidate that can do it',
    load: async (io) => (await import('./run.ts')).runCommand(io),
  },
  recover: {
    about: 'finish runs whose agent-exec died',
    load: async (io) => (await import('./recover.ts')).recoverCommand(io),
  },
  runs: {
    about: 'list runs: what came of each and what is kept',
    load: async (io) => (await import('./runs.ts')).runsCommand(io),
  },
  show: {
    about: 'tell what happened in a run, and what to do next',
    load: async (io) => (await import('./show.ts')).showCommand(io),
  },
  logs: {
    about: 'print what the workers of a run printed',
    load: async (io) => (await import('./logs.ts')).logsCommand(io),
  },
  diff: {
    about: 'show what a run changed',
    load: async (io) => (await import('./diff.ts')).diffCommand(io),
  },
  apply: {
    about: "put a run's change into the checkout, or make a branch of it",
    load: async (io) => (await import('./apply.ts')).applyCommand(io),
  },
  gc: {
    about: 'remove the state of finished runs',
    load: async (io) => (await import('./gc.ts')).gcCommand(io),
  },
  receipt: {
    about: 'verify receipts, or make a card of one',
    load: async (io) => (await import('./receipt.ts')).receiptCommand(io),
  },
  refused: {
    about: "whether a CLI's log shows that its provider refused",
    load: async (io) => (await import('./refused.ts')).refusedCommand(io),
    bugExit: EXIT.usage,
  },
  schema: {
    about: 'print the JSON Schema of a record',
    load: async (io) => (await import('./schema.ts')).schemaCommand(io),
  },
};

const AFTER_HELP = `
Example:
  $ agent-exec run --role repair --goal "make npm test pass" --allow src/

Exit codes: 0 success, 2 usage, 3 invalid configuration, 4 exhausted, 5 the host may do
the unit itself, 6 blocked (a person must look), 7 records not written, 1 a bug.`;

function overview(io: CliIo): Command {
  const program = new Command('agent-exec')
    .description('Hands one bounded unit of work to an agent CLI and answers with a proven result.')
    .version(VERSION, '-V, --version')
    .helpCommand(false)
    .addHelpText('after', AFTER_HELP);
  for (const [name, { about }] of Object.entries(COMMANDS)) program.command(name).description(about);
  return speakThrough(program, io);
}

/** Gives commander our streams and makes it throw instead of ending the process. */
function speakThrough(command: Command, io: CliIo): Command {
  return command
    .exitOverride()
    .showHelpAfterError('(see --help)')
    .configureOutput({
      writeOut: (text) => {
        void io.out(text);
      },
      writeErr: (text) => io.note(text),
    });
}

/** Runs one command line. Never throws; the exit code is set through `io`. */
export async function main(args: readonly string[], io: CliIo): Promise<void> {
  const name = args[0] === 'help' ? args[1] : args[0];
  const known = name !== undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  try {
    if (known === undefined) {
      if (args[0] === 'help' && args.length === 1) {
        await overview(io).parseAsync(['--help'], { from: 'user' });
      } else {
        await overview(io).parseAsync([...args], { from: 'user' });
      }
      return;
    }
    const command = speakThrough(await known.load(io), io).name(`agent-exec ${name}`);
    await command.parseAsync(args[0] === 'help' ? ['--help'] : args.slice(1), { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      io.exit(error.exitCode === 0 ? 0 : EXIT.usage);
      return;
    }
    if (error instanceof CurrentFolderGone) {
      io.note(`error: ${error.message}\n`);
      io.exit(EXIT.usage);
      return;
    }
    const message = error instanceof Error ? error.message : String(error);
    io.note(`agent-exec: internal error: ${neutralise(message).replace(/\s*\n\s*/g, ' | ')}\n`);
    // Outside of a run there is no directory to keep a stack in.
    if (io.env.AGENT_EXEC_DEBUG) io.note(`${error instanceof Error ? error.stack : ''}\n`);
    io.exit(known?.bugExit ?? EXIT.internalError);
  }
}
