/**
 * Which paths look like secrets: no unit may name one, and no worker may leave a new one behind (SPEC 4 and 6.7). Judged
 * by name alone, case ignored. Names that are secrets by their whole meaning are listed; source files that merely mention
 * one (`keyboard.key.ts`, `id_rsa.pub`, `.env.example`) are not.
 */
import { gitName } from './git-names.ts';

/** Folders in which everything is a secret. */
const FOLDERS = new Set(['.aws', '.ssh', '.gnupg']);

const NAMES = new Set([
  '.env',
  '.npmrc',
  '.netrc',
  '_netrc',
  '.pypirc',
  '.pgpass',
  '.htpasswd',
  '.dockercfg',
  '.git-credentials',
  '.vault-token',
  'credentials.json',
  '.credentials.json',
  'application_default_credentials.json',
]);

/** Last segments with the folder that makes them a secret. */
const IN_FOLDER = new Set([
  '.kube/config',
  '.docker/config.json',
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.gem/credentials',
]);

const ENDINGS = /\.(?:pem|key|p12|pfx|pkcs12|jks|keystore|ppk|kdbx)$/;
/** A private key of ssh, also one named for its use (`id_rsa_github`); `.pub` is not secret. */
const SSH_KEY = /^id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?(?:[_-][a-z0-9_-]+)?(?:\.(?:bak|old|orig))?$/;
const ENV_FILE = /^\.env\..+$/;
/** Android's debug key is the same for everybody and belongs in the repository. */
const PUBLIC_NAMES = new Set(['debug.keystore']);

/**
 * True where `path` (repository-relative, POSIX, a trailing slash ignored) looks like a secret, as it is written or as
 * the most forgetful file system reads it (`.env.`, `.npmrc::$DATA`).
 */
export function isSecretPath(path: string): boolean {
  const segments = (path.endsWith('/') ? path.slice(0, -1) : path).split('/');
  return namesSecret(segments.map((segment) => segment.toLowerCase())) || namesSecret(segments.map(gitName));
}

function namesSecret(segments: readonly string[]): boolean {
  const name = segments.at(-1) ?? '';
  if (segments.some((segment) => FOLDERS.has(segment))) return true;
  if (PUBLIC_NAMES.has(name)) return false;
  return (
    NAMES.has(name) ||
    IN_FOLDER.has(segments.slice(-2).join('/')) ||
    ENDINGS.test(name) ||
    SSH_KEY.test(name) ||
    (ENV_FILE.test(name) && name !== '.env.example')
  );
}
