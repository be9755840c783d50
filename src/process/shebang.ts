/** Reads the `#!` line of a script as the kernel does, and looks through `/usr/bin/env` to the program it will search. Pure. */

type Shebang =
  /** Not a script. */
  | { readonly kind: 'none' }
  | { readonly kind: 'invalid'; readonly message: string }
  /** An absolute path, or a bare name that env looks up on PATH. */
  | { readonly kind: 'program'; readonly program: string }
  /** The line is well formed and what it runs cannot be told without running it. */
  | { readonly kind: 'unknown' };

/** `head` is the beginning of the file. */
export function interpreterOf(head: Buffer): Shebang {
  if (head[0] !== 0x23 || head[1] !== 0x21) return { kind: 'none' };
  const newline = head.indexOf(0x0a);
  const line = head.subarray(2, newline < 0 ? head.length : newline).toString('latin1');
  if (line.endsWith('\r')) {
    const message =
      "its first line ends with a carriage return (CRLF), which becomes part of the interpreter's name. Save it with LF.";
    return { kind: 'invalid', message };
  }
  const [interpreter, ...args] = line.split(/[ \t]+/).filter((word) => word !== '');
  if (interpreter === undefined) return { kind: 'invalid', message: 'its "#!" line names no interpreter.' };
  if (!interpreter.startsWith('/'))
    return { kind: 'invalid', message: `its "#!" line names "${interpreter}", which is not an absolute path.` };
  if (!/^\/(?:usr\/)?bin\/env$/.test(interpreter)) return { kind: 'program', program: interpreter };
  return throughEnv(args);
}

/** What `env ARGS` runs. */
function throughEnv(args: readonly string[]): Shebang {
  const [first, ...rest] = args;
  // Without -S, Linux hands everything behind env over as one argument.
  const words =
    first === '-S' || first === '--split-string' ? rest : first?.startsWith('-S') ? [first.slice(2), ...rest] : args;
  if (words === args && rest.length > 0 && process.platform === 'linux') {
    const message = `env would look for a program named "${args.join(' ')}"; several words need "env -S".`;
    return { kind: 'invalid', message };
  }
  const program = words.find((word) => !word.includes('='));
  if (program === undefined || program.startsWith('-') || /["'\\$]/.test(program)) return { kind: 'unknown' };
  return { kind: 'program', program };
}
