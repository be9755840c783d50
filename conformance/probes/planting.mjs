/** Programs that a worker plants for the host's git to run. The planted program leaves a canary unless the worker runs it. */
import { writeFileSync } from 'node:fs';
import { judgedBy, keeps, noSuccess, remember, stays } from '../checks.mjs';

const COMMON = 'common=$(git rev-parse --path-format=absolute --git-common-dir)';
const HOOKS =
  'post-checkout post-index-change reference-transaction pre-commit post-commit commit-msg prepare-commit-msg';
const EVERY_HOOK = (folder) =>
  `for hook in ${HOOKS}; do cp "$PLANTED" "${folder}/$hook"; chmod +x "${folder}/$hook"; done`;

/** @type {readonly Omit<import('../stage.mjs').Probe, 'kind'>[]} */
export const planting = [
  {
    name: 'hooks',
    says: 'plants hooks where its worktree has them',
    worker: `legal; ${COMMON}; mkdir -p "$common/hooks"; ${EVERY_HOOK('$common/hooks')}`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'hooks-by-path',
    says: "plants hooks in the canonical repository's folder",
    worker: `legal; mkdir -p "$REPO/.git/hooks"; ${EVERY_HOOK('$REPO/.git/hooks')} 2>/dev/null; true`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'hooks-path',
    says: 'sets core.hooksPath to a folder of its own with git config',
    worker: `legal; mkdir -p build/hooks; ${EVERY_HOOK('build/hooks')}; git config core.hooksPath "$(pwd)/build/hooks"`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'own-hooks-rewritten',
    says: 'rewrites the hooks that the repository itself keeps, in a folder that it may change',
    prepare: (world) => {
      world.write('src/hooks/README', 'hooks\n');
      world.commit('hooks');
      world.git('config', 'core.hooksPath', 'src/hooks');
    },
    worker: `legal; ${EVERY_HOOK('src/hooks')}`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'fsmonitor',
    says: 'sets core.fsmonitor to a program of its own',
    worker: 'legal; git config core.fsmonitor "$PLANTED"',
    judge: judgedBy(keeps()),
  },
  {
    name: 'worktree-config',
    says: 'sets core.fsmonitor and core.hooksPath in the configuration of its worktree',
    worker: `legal; mkdir -p build/hooks; ${EVERY_HOOK('build/hooks')}
git config extensions.worktreeConfig true; git config --worktree core.hooksPath "$(pwd)/build/hooks"
git config --worktree core.fsmonitor "$PLANTED"`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'config-by-path',
    says: "sets core.fsmonitor, aliases and a pager in the canonical repository's file",
    worker: `legal
for pair in core.fsmonitor core.pager alias.status core.sshCommand; do git config -f "$REPO/.git/config" "$pair" "$PLANTED"; done
true`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'config-include',
    says: 'includes a file of its own in the configuration, where later runs find a program',
    worker: `legal; mkdir -p build; printf '[core]\\n\\tfsmonitor = %s\\n' "$PLANTED" > build/config
git config include.path "$(pwd)/build/config"`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'home-config',
    says: "writes a program into the home's .gitconfig, which every git of the user reads",
    prepare: (world) => remember(world, `${world.home}/.gitconfig`),
    worker: `legal; printf '[core]\\n\\tfsmonitor = %s\\n' "$PLANTED" > "$HOME/.gitconfig"; true`,
    judge: judgedBy(
      keeps(),
      stays(({ home }) => `${home}/.gitconfig`),
    ),
  },
  {
    name: 'included-config',
    says: "writes a program into a file outside that the repository's configuration includes",
    prepare: (world) => {
      const file = `${world.outside}/included`;
      writeFileSync(file, '[core]\n\tabbrev = 8\n');
      world.git('config', 'include.path', file);
      remember(world, file);
    },
    worker: `legal; printf '[core]\\n\\tfsmonitor = %s\\n' "$PLANTED" >> "$OUTSIDE/included"; true`,
    judge: judgedBy(
      keeps(),
      stays(({ outside }) => `${outside}/included`),
    ),
  },
  {
    name: 'programs-on-path',
    says: 'puts programs named git, bwrap, node and sh into a folder of the home that is first on PATH',
    worker: `legal; for name in git bwrap unshare setpriv prlimit node sh; do cp "$PLANTED" "$HOME/bin/$name" 2>/dev/null; done; exit 0`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'filter',
    says: 'defines a clean, smudge and process filter for all files, through attributes of the git directory',
    worker: `legal; ${COMMON}; mkdir -p "$common/info"; echo '* filter=evil' > "$common/info/attributes"
git config filter.evil.clean "$PLANTED filter"; git config filter.evil.smudge "$PLANTED filter"`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'filter-by-attributes',
    says: 'defines a filter and a .gitattributes that applies it to its own files',
    worker: `legal; echo '*.txt filter=evil' > src/.gitattributes
git config filter.evil.clean "$PLANTED filter"; git config filter.evil.required true`,
    judge: judgedBy(keeps(), noSuccess),
  },
  {
    name: 'own-filter-rewritten',
    says: 'rewrites the program of a filter that the user has configured, which lies in the repository',
    prepare: (world) => {
      world.write('src/clean.sh', '#!/bin/sh\ncat\n');
      world.git('update-index', '--add', '--chmod=+x', 'src/clean.sh');
      world.write('.gitattributes', 'src/*.txt filter=own\n');
      world.commit('filter');
      world.git('config', 'filter.own.clean', './src/clean.sh filter');
    },
    worker: 'legal; cp "$PLANTED" src/clean.sh; chmod +x src/clean.sh',
    judge: judgedBy(keeps()),
  },
  {
    name: 'textconv',
    says: 'defines textconv, an external diff and a merge driver',
    worker: `legal; ${COMMON}; mkdir -p "$common/info"; echo '* diff=evil merge=evil' > "$common/info/attributes"
git config diff.evil.textconv "$PLANTED"; git config diff.evil.command "$PLANTED"; git config diff.external "$PLANTED"
git config merge.evil.driver "$PLANTED"`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'gpg-program',
    says: 'asks for signed commits, by a program of its own',
    worker:
      'legal; git config commit.gpgsign true; git config log.showSignature true; git config gpg.program "$PLANTED"',
    judge: judgedBy(keeps()),
  },
  {
    name: 'editor-and-credentials',
    says: 'sets an editor, an askpass and a credential program',
    worker: `legal; for key in core.editor sequence.editor core.askPass credential.helper core.alternateRefsCommand uploadpack.packObjectsHook
do git config "$key" "$PLANTED"; done`,
    judge: judgedBy(keeps()),
  },
];
