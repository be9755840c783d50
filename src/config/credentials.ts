/**
 * Credentials do not belong into a file that is committed. Looks for them in the raw lines (so also in comments and in
 * YAML that does not parse) and in the tree; what is found is named by its place only, never by its text.
 */
import type { BlockLine } from './fence.ts';
import { errorAt, type Finding, type Span, spanOnLine } from './finding.ts';
import type { Entry, TreeNode } from './tree.ts';

/**
 * Shapes of known tokens, keys and logins, wherever they stand in a text. Each is linear on any text: no two places where
 * a match can begin read the same run of characters to its end.
 */
const TOKEN_SHAPES: readonly RegExp[] = [
  /\bsk-[A-Za-z0-9_-]{16,}/,
  /\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}/,
  /\bgh[opusr]_[A-Za-z0-9]{20,}/,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/,
  /\bglpat-[A-Za-z0-9_-]{16,}/,
  /\bx(?:ox[abeoprs]|app)-[A-Za-z0-9-]{10,}/,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/,
  /\bAIza[A-Za-z0-9_-]{30,}/,
  /\bya29\.[A-Za-z0-9_-]{20,}/,
  /\bnpm_[A-Za-z0-9]{30,}/,
  /\bpypi-[A-Za-z0-9_-]{20,}/,
  /\bhf_[A-Za-z0-9]{20,}/,
  /\b(?:xai|gsk|dop_v1|lin_api|fw|r8)[-_][A-Za-z0-9]{24,}/,
  /\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/,
  /\bAGE-SECRET-KEY-1[A-Z0-9]{20,}/,
  /\beyJ(?:(?!\beyJ)[A-Za-z0-9_-]){8,}\.[A-Za-z0-9_-]{8,}/,
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/,
  /[a-z0-9+.-]:\/\/[^\s/:@'"]*:[^\s/@'"]+@/i,
  /\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/-]{12,}=*/i,
  /\b(?:authorization|x-api-key)\s*[:=]\s*[^\s'",\]]{6,}/i,
  /(?:token|secret|password|passwd|api[_-]?key|access[_-]?key)=[^\s'",\]{$]+/i,
];

/** One long run of letters and digits that no name, path or model slug looks like. */
const RANDOM = /^(?:(?=.*\d)(?=.*[a-f])[0-9a-f]{32,}|(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9+_=]{32,})$/;

/** True where a known token, key or login stands anywhere in the text. */
export const looksLikeToken = (text: string): boolean => TOKEN_SHAPES.some((shape) => shape.test(text));

const WORDS = new Set(['password', 'passwd', 'pwd', 'passphrase', 'secret', 'secrets', 'token', 'apikey', 'bearer']);
const MORE_WORDS = new Set(['credential', 'credentials', 'auth', 'authorization', 'oauth', 'accesskey', 'privatekey']);
const PAIRS = /(?:^|-)(?:api|access|private|secret|signing|encryption|account|auth)-keys?(?:-|$)/;
/** `token_limit` counts tokens; it holds none. */
const COUNTS = /(?:^|-)(?:max|min|limit|budget|count|window|usage)(?:-|$)/;

/** Whether a key's name says that its value is a credential. */
export function namesCredential(key: string): boolean {
  const name = key
    .slice(0, 200)
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');
  if (COUNTS.test(name)) return false;
  return PAIRS.test(name) || name.split('-').some((word) => WORDS.has(word) || MORE_WORDS.has(word));
}

export interface CredentialReading {
  readonly findings: readonly Finding[];
  /** Lines of the file that are shown to nobody. */
  readonly concealedLines: ReadonlySet<number>;
  /** Texts that no message may hold. */
  readonly secrets: readonly string[];
}

const HINT =
  'Remove it from the file, and replace it where it was valid: worker CLIs read credentials from their login or environment.';
const KEY_LINE = /^(\s*(?:-\s+)?)(["']?)([A-Za-z_][A-Za-z0-9_.-]*)\2\s*:\s+(.*)$/;

/** Looks through the block's lines and, where it could be read, its tree. Total. */
export function findCredentials(lines: readonly BlockLine[], tree: TreeNode | null): CredentialReading {
  const search = new Search();
  search.lines(lines);
  if (tree !== null) search.node(tree, 'block');
  return { findings: search.findings, concealedLines: search.concealed, secrets: [...search.secrets] };
}

/** What the place says of names: a list of roles, profiles or adapters has keys that people choose. */
type Place = 'block' | 'names' | 'inside';
const NAME_PLACES = new Set(['roles', 'profiles', 'custom_adapters']);

class Search {
  readonly findings: Finding[] = [];
  readonly concealed = new Set<number>();
  readonly secrets = new Set<string>();

  lines(lines: readonly BlockLine[]): void {
    let hiddenBelow: number | null = null;
    let privateKey = false;
    for (const line of lines) {
      const indent = line.text.search(/\S|$/);
      if (hiddenBelow !== null && (indent > hiddenBelow || line.text.trim() === '')) {
        this.concealed.add(line.line);
        continue;
      }
      hiddenBelow = null;
      if (privateKey) this.concealed.add(line.line);
      if (/-----END [A-Z0-9 ]*PRIVATE KEY-----/.test(line.text)) privateKey = false;
      if (this.#keyLine(line)) hiddenBelow = indent;
      if (looksLikeToken(line.text) && !this.concealed.has(line.line)) {
        this.#value(spanOnLine(line.line, line.column + indent, line.text.trim().length));
        privateKey = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(line.text);
      }
    }
  }

  /** A `password: …` with a text after it; keys over lists and mappings are judged in the tree, by their place. */
  #keyLine({ text, line, column }: BlockLine): boolean {
    const match = KEY_LINE.exec(text);
    const [, before = '', mark = '', key = '', rest = ''] = match ?? [];
    const value = rest.replace(/^(["'])(.*)\1\s*(?:#.*)?$/, '$2').trim();
    if (match === null || value === '' || /^[[{#]/.test(value) || !namesCredential(key)) return false;
    this.#key(spanOnLine(line, column + before.length, key.length + 2 * mark.length), value);
    return true;
  }

  node(node: TreeNode, place: Place): void {
    if (node.kind === 'list') this.#list(node.items);
    if (node.kind === 'scalar') this.#scalar(node.value, node.span);
    if (node.kind !== 'map') return;
    for (const entry of node.entries) {
      if (this.#isCredential(entry, place)) this.#entry(entry);
      else this.node(entry.value, place === 'block' && NAME_PLACES.has(entry.key) ? 'names' : 'inside');
    }
  }

  #isCredential({ key, value }: Entry, place: Place): boolean {
    const chosenName = place === 'names' && (value.kind === 'list' || value.kind === 'map');
    return namesCredential(key) && !chosenName;
  }

  #entry({ keySpan, value }: Entry): void {
    this.#key(keySpan, value.kind === 'scalar' && typeof value.value === 'string' ? value.value : null);
    for (let line = keySpan.line; line <= value.span.endLine; line++) this.concealed.add(line);
  }

  #scalar(value: unknown, span: Span): void {
    if (typeof value !== 'string' || !(RANDOM.test(value) || looksLikeToken(value))) return;
    this.#value(span);
    this.#secret(value);
  }

  /** Items one by one, and the value that follows a flag such as `--api-key`. */
  #list(items: readonly TreeNode[]): void {
    let flag = false;
    for (const item of items) {
      this.node(item, 'inside');
      const value = item.kind === 'scalar' ? item.value : null;
      if (flag && (typeof value === 'number' || (typeof value === 'string' && isFlagValue(value)))) {
        this.#value(item.span);
        this.#secret(String(value));
      }
      flag = typeof value === 'string' && /^--?[a-z]/i.test(value) && !value.includes('=') && namesSecretFlag(value);
    }
  }

  #key(span: Span, value: string | null): void {
    if (!this.concealed.has(span.line)) {
      this.findings.push(errorAt('CREDENTIAL_KEY', span, 'this key looks like a credential', HINT));
    }
    this.concealed.add(span.line);
    if (value !== null) this.#secret(value);
  }

  #value(span: Span): void {
    if (!this.concealed.has(span.line)) {
      this.findings.push(errorAt('CREDENTIAL_VALUE', span, 'this line holds what looks like a credential', HINT));
    }
    for (let line = span.line; line <= span.endLine; line++) this.concealed.add(line);
  }

  #secret(value: string): void {
    if (value.length >= 6) this.secrets.add(value);
  }
}

const namesSecretFlag = (flag: string): boolean =>
  namesCredential(flag) && !/-(?:file|path|env|name|command|helper)$/.test(flag);
const isFlagValue = (value: string): boolean => !/^(?:-|\{|\/|\.)/.test(value) && value !== '';
