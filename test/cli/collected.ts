/** An outside that keeps what a command says, for commands that are run in the tests' own process. */
import { type Command, CommanderError } from 'commander';
import type { CliIo } from '../../src/cli/io.ts';

export interface Said {
  out: string;
  note: string;
  /** Null until the command has set it. */
  code: number | null;
}

interface Outside {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly terminal?: boolean;
  /** Called with each piece of stderr, in the midst of what the command is doing. */
  readonly onNote?: (text: string) => void;
}

export function collecting({ cwd, env = {}, terminal = false, onNote }: Outside): { io: CliIo; said: Said } {
  const said: Said = { out: '', note: '', code: null };
  const io: CliIo = {
    env,
    cwd: () => cwd,
    out: async (text) => {
      said.out += text;
    },
    note: (text) => {
      said.note += text;
      onNote?.(text);
    },
    stdin: async () => null,
    stdoutIsTerminal: terminal,
    stderrIsTerminal: terminal,
    exit: (code) => {
      said.code = code;
    },
  };
  return { io, said };
}

/** Gives the command these arguments, as the program does: a usage error ends with 2, and says so on stderr. */
export async function parsed(
  command: Command,
  args: readonly string[],
  { io, said }: { readonly io: CliIo; readonly said: Said },
): Promise<Said> {
  const words = (text: string): void => io.note(text);
  command.exitOverride().configureOutput({ writeOut: words, writeErr: words });
  try {
    await command.parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    said.code = error.exitCode === 0 ? 0 : 2;
  }
  return said;
}
