/** What a command may touch of the outside, handed in so that tests and other entry points control it. */
export interface CliIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Throws {@link CurrentFolderGone}. */
  cwd(): string;
  /** Writes to stdout and resolves when it is flushed; a closed pipe is not an error. */
  out(text: string): Promise<void>;
  /** Writes to stderr. */
  note(text: string): void;
  /** Reads all of stdin, at most `limit` bytes; null where it is longer. */
  stdin(limit: number): Promise<Uint8Array | null>;
  readonly stdoutIsTerminal: boolean;
  readonly stderrIsTerminal: boolean;
  /** Sets the exit code of the command. */
  exit(code: number): void;
}

/** Somebody removed the folder that the command was started in: no relative path means anything. */
export class CurrentFolderGone extends Error {
  override readonly name = 'CurrentFolderGone';
}
