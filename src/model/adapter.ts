/**
 * What an adapter is: data and pure functions about one CLI. No spawn, no files, no environment; the effects are in
 * process/ and run/ and read these values.
 */
import type { UnavailableCode } from './codes.ts';
import type { Cost } from './config.ts';
import type { Refusal, Usage } from './observation.ts';
import type { Result } from './result.ts';

export type Stream = 'stdout' | 'stderr';

export interface Unavailable {
  readonly code: UnavailableCode;
  /** What is wrong and what to do about it, one sentence each. */
  readonly message: string;
}

/** A bounded helper command of the probe, run in a scratch directory without credentials. */
export interface ProbeCommand {
  readonly args: readonly string[];
}
export interface ProbeOutput {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

export interface AdapterProbe {
  /** `null`: the program is not asked for its version (custom adapters). */
  readonly version: ProbeCommand | null;
  /** Reads the version's output: the version, or why this is not the program (wrong product, too old, cannot start). */
  readVersion(output: ProbeOutput): Result<string, Unavailable>;
  /** Help commands whose joined stdout and stderr must show every flag of `requiredFlags`. */
  readonly help: readonly ProbeCommand[];
  readonly requiredFlags: readonly string[];
}

/** Names of environment variables, by what passing them means. */
export interface CredentialNames {
  /** Logins and subscription tokens: always passed. */
  readonly subscription: readonly string[];
  /** API keys that bill by use: passed only to profiles whose cost is `metered`. */
  readonly metered: readonly string[];
  /** Not secret: base addresses, configuration folders. */
  readonly settings: readonly string[];
}

export interface InvocationRequest {
  /** Absolute path of the attempt's worktree. */
  readonly workspace: string;
  /** The resolved model slug; null: no model flag is passed. */
  readonly model: string | null;
  readonly effort: string | null;
  /** The composed prompt, UTF-8. */
  readonly prompt: string;
  /** Absolute path of a private file that already holds the prompt, for transports by file. */
  readonly promptFile: string;
  /** Absolute path of a private, not yet existing file a CLI may write its last message to. */
  readonly resultFile: string;
  readonly timeoutSeconds: number;
  /** Isolation level in force, for CLIs that need to know (claude as root). */
  readonly isolation: 'none' | 'guard' | 'strict';
  readonly runningAsRoot: boolean;
  /** Names (not values) of variables that will be passed to the worker, to judge credentials by. */
  readonly environmentNames: readonly string[];
  /** The same with their values, for an adapter that must look inside one (opencode's inline configuration). Never shown. */
  readonly environment: Readonly<Record<string, string>>;
  /** Those of the adapter's `loginFiles` that exist and hold more than an empty object, as absolute paths. */
  readonly existingLoginFiles: readonly string[];
}

export interface Invocation {
  /** Arguments after the executable, each one literal. */
  readonly args: readonly string[];
  /** The same, with the prompt, workspace and result file as placeholders: what a receipt or a plan shows. */
  readonly shownArgs: readonly string[];
  readonly stdin:
    | {
        readonly kind: 'bytes';
        readonly bytes: Uint8Array;
        /** Set for a CLI that takes the end of its input for a wish to stop: close it at the `finished` observation. */
        readonly openUntilFinished?: true;
      }
    | { readonly kind: 'null' };
  /** Extra variables for this invocation. Values are not secret. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Something a worker's output says while it runs. */
export type Observation =
  /** It is working: a readable event, shown as progress. `text` is bounded, not yet redacted. */
  | { readonly kind: 'activity'; readonly text: string }
  /** It says that it is retrying its provider: idle, and a refusal if it never comes back. */
  | { readonly kind: 'provider-wait'; readonly refusal: Refusal }
  /** It reported its result; for CLIs that linger, the tree may be ended after a short grace. */
  | { readonly kind: 'finished' };

/** Bytes of the last message that a report carries: its end. */
export const FINAL_TEXT_BYTES = 256 * 1024;

/** What a worker said of itself. Self-reported, every field. */
export interface WorkerReport {
  readonly status: 'success' | 'error' | null;
  readonly error: string | null;
  readonly model: string | null;
  readonly sessionId: string | null;
  readonly usage: Usage;
  /** The last message, bounded to its last `FINAL_TEXT_BYTES`; '' where there is none. */
  readonly finalText: string;
  readonly refusal: Refusal | null;
  /** True where the format promises a result event and none came. */
  readonly resultMissing: boolean;
}

/**
 * Reads one attempt's output line by line, in order per stream. Total: any bytes are legal, a line it cannot read is
 * nothing. Lines come without their newline, decoded as UTF-8 with replacement, cut at `MAX_LINE` characters.
 */
export interface EventReader {
  read(stream: Stream, line: string): readonly Observation[];
  /**
   * The bytes of whole lines joined by newlines, to the same report as line by line, and quicker. One list of observations
   * for each line, but that of lines that follow one another and mean activity or nothing the last may stand for all. The
   * bytes are the reader's only until it returns.
   */
  readBlock(stream: Stream, block: Buffer): readonly (readonly Observation[])[];
  /**
   * The refusal that stands so far: of the events the last one told, where they told none the first of the plain lines.
   * Whatever comes of it, `report` decides. Costs nothing, so it may be asked after each line.
   */
  refusalTold(): Refusal | null;
  report(): WorkerReport;
}

/** What a reader may know besides the output. Without them it reads what it can. */
export interface ReaderFacts {
  /** Absolute path the worker must say it works in, where its format tells (agy). */
  readonly workspace?: string;
  /** Milliseconds since the epoch, to turn a moment ("resets at …") into `retry_after_seconds`. */
  readonly now?: () => number;
  /** Set where a kept log is read, and not a run's own streams. */
  readonly log?: {
    /** False: nobody says whose log it is. */
    readonly isNamed: boolean;
    /** The lines of both streams, in whatever order: each one is read as of either. */
    readonly isMerged: boolean;
  };
  /** Reads a line as a JSON object, else null, as adapters/json-lines.ts does; for many readers of the same lines to share. */
  readonly parse?: (line: string) => Readonly<Record<string, unknown>> | null;
}

/** Characters of one output line that a reader gets to see; the rest of a longer line is dropped for reading. */
export const MAX_LINE = 1024 * 1024;

/**
 * A file or folder of a CLI: `$variable` (with `below` added) where that variable is set, else `path` below HOME.
 * adapters/state-path.ts turns it into an absolute path.
 */
export interface StatePath {
  readonly variable: string | null;
  readonly below?: string;
  readonly path: string;
  /** Set for a file, which only the CLI can make. */
  readonly isFile?: true;
}

export interface Adapter {
  readonly name: string;
  /** Program names looked up on PATH in this order where the profile names no executable. */
  readonly programs: readonly string[];
  readonly probe: AdapterProbe;
  readonly credentials: CredentialNames;
  /** Fixed variables for every start, probes included. */
  readonly environment: Readonly<Record<string, string>>;
  /** Folders and files below HOME, or named by a variable, in which the CLI keeps logins and caches. */
  readonly stateFolders: readonly StatePath[];
  /** Files whose presence with some content says that somebody logged in or configured a provider. */
  readonly loginFiles: readonly StatePath[];
  /** argv for a full-permission headless run, or why it cannot be made. */
  invoke(request: InvocationRequest): Result<Invocation, Unavailable>;
  reader(facts?: ReaderFacts): EventReader;
  /** Milliseconds to wait after a `finished` observation before the tree is ended; null: wait for the exit. */
  readonly lingerMs: number | null;
  /** How a `{family, effort}` model is looked up; null where the CLI cannot list its models. */
  readonly models: {
    /** Commands to try in order until one gives a list. */
    readonly commands: readonly ProbeCommand[];
    parse(output: ProbeOutput): readonly ListedModel[] | null;
  } | null;
}

export interface ListedModel {
  readonly slug: string;
  readonly label: string;
}

/** A profile with its adapter, as the plan freezes it. */
export interface Candidate {
  /** `01-cursor`: position and profile; unique in a run and valid in a ref name. */
  readonly attemptId: string;
  readonly profile: string;
  readonly adapter: Adapter;
  readonly executable: string | null;
  readonly model: string | { readonly family: string; readonly effort: string };
  readonly effort: string | null;
  readonly enabled: boolean;
  readonly cost: Cost;
}

/** The model that a profile asks for, as records show it; null: the CLI's own choice. */
export const requestedModel = ({ model }: Pick<Candidate, 'model'>): string | null =>
  typeof model === 'string' ? (model === 'auto' ? null : model) : `${model.family} (${model.effort})`;
