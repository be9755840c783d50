/**
 * What a worker gets of the host's environment: an allow-list, its own adapter's variables, and nothing else (SPEC 5). A key
 * that bills by use is passed only to a profile whose cost says so; no variable of git passes at all.
 */
import type { Adapter } from '../model/adapter.ts';
import type { Cost } from '../model/config.ts';

type HostEnvironment = Readonly<Record<string, string | undefined>>;

const ALLOWED: ReadonlySet<string> = new Set([
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TMPDIR',
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()]),
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'AWS_CA_BUNDLE',
  'CODEX_CA_CERTIFICATE',
]);
const ALLOWED_PREFIXES = ['LC_', 'XDG_'] as const;

/** A worker runs unattended: no colours, no cursor games, no questions. */
const UNATTENDED = { TERM: 'dumb', NO_COLOR: '1', CI: '1' } as const;

const isAllowed = (name: string): boolean =>
  ALLOWED.has(name) || ALLOWED_PREFIXES.some((prefix) => name.startsWith(prefix));

const pick = (hostEnv: HostEnvironment, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = Object.hasOwn(hostEnv, name) ? hostEnv[name] : undefined;
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );

const withoutGit = (environment: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !/^GIT_/i.test(name)));

/**
 * The allow-list's part of the host's environment, without any credential: what probes run with. Relative entries of PATH
 * are dropped: in a worker's folder they would name files of the worker's own making.
 */
export const baseEnvironment = (hostEnv: HostEnvironment): Record<string, string> => {
  const allowed = pick(hostEnv, Object.keys(hostEnv).filter(isAllowed));
  const { PATH } = allowed;
  const path =
    PATH === undefined
      ? {}
      : {
          PATH: PATH.split(':')
            .filter((entry) => entry.startsWith('/'))
            .join(':'),
        };
  return { ...allowed, ...path, ...UNATTENDED };
};

export interface WorkerEnvironmentRequest {
  readonly hostEnv: HostEnvironment;
  readonly adapter: Pick<Adapter, 'credentials' | 'environment'>;
  /** The profile's. */
  readonly cost: Cost;
  /** `Invocation.environment`; empty while the invocation is not made yet. */
  readonly invocationEnvironment: Readonly<Record<string, string>>;
  /** Value of `AGENT_EXEC_CHAIN`: the runs this worker is inside of. */
  readonly chain: string;
  /** Value of `AGENT_EXEC_ATTEMPT`: the marker leftover processes are found by. */
  readonly attempt: string;
  /** The attempt's own temporary folder. */
  readonly tmpDir: string;
}

export interface WorkerEnvironment {
  readonly environment: Readonly<Record<string, string>>;
  /** Values that must never be shown, by name. */
  readonly credentials: Readonly<Record<string, string>>;
  /** Names of keys the host has and the worker does not get, because the profile's cost is not `metered`. */
  readonly withheld: readonly string[];
}

export function workerEnvironment(request: WorkerEnvironmentRequest): WorkerEnvironment {
  const { hostEnv, adapter, cost } = request;
  const { metered, settings } = adapter.credentials;
  // Named by an owner or not: what everybody gets is no secret, and hiding HOME's value would hide every path.
  const subscription = adapter.credentials.subscription.filter((name) => !isAllowed(name));
  const keys = pick(hostEnv, metered);
  const credentials = withoutGit({ ...pick(hostEnv, subscription), ...(cost === 'metered' ? keys : {}) });
  const environment = withoutGit({
    ...pick(hostEnv, settings),
    ...credentials,
    // The allow-list and what the program itself sets win over names an adapter's owner chose.
    ...baseEnvironment(hostEnv),
    ...adapter.environment,
    ...request.invocationEnvironment,
    ...UNATTENDED,
    TMPDIR: request.tmpDir,
    AGENT_EXEC_CHAIN: request.chain,
    AGENT_EXEC_ATTEMPT: request.attempt,
  });
  return {
    environment,
    // What was passed under another value, as TERM always is, is not the worker's to give away.
    credentials: Object.fromEntries(Object.entries(credentials).filter(([name, value]) => environment[name] === value)),
    withheld: cost === 'metered' ? [] : Object.keys(keys).filter((name) => !Object.hasOwn(credentials, name)),
  };
}
