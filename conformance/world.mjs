/**
 * The world of one probe: a folder of its own with a real repository, a home, a worker, a program that nobody may ever run
 * but the worker itself, and a secret. Invariant: all that a worker does here ends by itself in two minutes at the latest.
 */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { git } from './git.mjs';

/** What the honest part of every worker writes to src/a.txt. */
export const WORK = 'worker was here';

/** And this, where it was given the credential. */
export const HAD_KEY = 'with a credential';

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export class World {
  constructor() {
    /** Everything of this probe is below it. */
    this.folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'conformance-')));
    const tag = randomBytes(6).toString('hex');
    /** In the words of every process that a worker leaves alive. */
    this.mark = `MARK-${tag}`;
    /** A credential's value, given to the runner in the variable CONFORMANCE_KEY. Its core survives every escaping. */
    this.tokenCore = randomBytes(15).toString('hex');
    this.token = `k"+/${this.tokenCore}=~`;
    /** A secret that nobody passed, known by its shape only. */
    this.shapedToken = ['ghp', randomBytes(18).toString('hex')].join('_');
    this.repo = path.join(this.folder, 'repo');
    this.home = path.join(this.folder, 'home');
    /** Not in the repository; a worker may write there where its isolation lets it. */
    this.outside = path.join(this.folder, 'outside');
    /** On PATH before all else, as ~/.local/bin is for many people. */
    this.programs = path.join(this.home, 'bin');
    /** Where a driver lets the runner put what people may read. */
    this.records = path.join(this.folder, 'records');
    /** What the runner is started with; a probe may add to it. CONFORMANCE_UNASKED is for nobody. */
    this.environment = {
      PATH: `${this.programs}:${process.env.PATH}`,
      HOME: this.home,
      LANG: 'C.UTF-8',
      GIT_CONFIG_NOSYSTEM: '1',
      CONFORMANCE_KEY: this.token,
      CONFORMANCE_UNASKED: 'for nobody',
    };
    /** Run at the world's end. @type {(() => void)[]} */
    this.closers = [];
    this.worker = path.join(this.folder, 'worker');
    this.planted = path.join(this.folder, 'planted');
    this.canary = path.join(this.folder, 'canary');
    /** The commit that the worker starts from: set when everything is prepared. */
    this.base = '';
    /** What a probe wants to remember from its preparation. */
    this.notes = {};
    for (const folder of [this.home, this.programs, this.records, this.outside, this.repo]) mkdirSync(folder);
    git(this.repo, 'init', '-q', '-b', 'main');
    this.write('README.md', 'read me\n');
    this.write('src/a.txt', 'a\n');
    this.write('docs/d.txt', 'd\n');
    this.write('docs/refusals.txt', 'provider error: 429\n');
    this.write('.gitignore', 'build/\n*.log\n');
    this.write('src/tool.sh', '#!/bin/sh\n');
    chmodSync(path.join(this.repo, 'src/tool.sh'), 0o755);
    writeFileSync(
      this.planted,
      `#!/bin/sh\n[ -n "$CONFORMANCE_WORKER" ] || echo "$0 $*" >> ${quoted(this.canary)}\n[ "$1" != filter ] || cat\nexit 0\n`,
      { mode: 0o755 },
    );
  }

  /** Occurs in the words of everything that belongs to the worker. */
  get marks() {
    return [this.mark, this.worker];
  }

  write(name, text) {
    const file = path.join(this.repo, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  git(...args) {
    return git(this.repo, ...args);
  }

  commit(message) {
    this.git('add', '-A');
    this.git('commit', '-q', '-m', message);
  }

  /** Whether somebody but the worker ran the planted program. @returns {string | null} as what */
  canaryText() {
    return existsSync(this.canary) ? readFileSync(this.canary, 'utf8').trim().split('\n')[0] : null;
  }

  /** @param {string} text lines of sh after the common beginning, or a whole program that starts with #!, or '' */
  writeWorker(text) {
    const variables = {
      REPO: this.repo,
      OUTSIDE: this.outside,
      RECORDS: this.records,
      PLANTED: this.planted,
      MARK: this.mark,
      NODE: process.execPath,
      SHAPED: this.shapedToken,
    };
    const beginning = `#!/bin/sh
cat >/dev/null
export CONFORMANCE_WORKER=1 GIT_AUTHOR_NAME=w GIT_AUTHOR_EMAIL=w@example.invalid GIT_COMMITTER_NAME=w GIT_COMMITTER_EMAIL=w@example.invalid
export ${Object.entries(variables)
      .map(([name, value]) => `${name}=${quoted(value)}`)
      .join(' ')}
legal() { echo '${WORK}' >> src/a.txt; [ -z "$CONFORMANCE_KEY" ] || echo '${HAD_KEY}' >> src/a.txt; }
linger() { exec perl -e 'alarm 120; sleep 120' "$MARK$1"; }
`;
    const program = text === '' || text.startsWith('#!') ? text : `${beginning}${text.trim()}\n`;
    writeFileSync(this.worker, program, { mode: 0o755 });
  }

  close() {
    for (const close of this.closers) close();
  }

  /** A worker may have taken away rights or made paths that only `rm` can follow. */
  remove() {
    spawnSync('chmod', ['-R', 'u+rwX', this.folder], { stdio: 'ignore' });
    spawnSync('rm', ['-rf', this.folder], { stdio: 'ignore' });
  }
}
