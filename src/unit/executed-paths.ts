/**
 * Which paths git, its hooks or a CI service execute or obey, and the policy itself: changing one of them gives a worker
 * a way to run code outside its unit. They are in scope only where the packet names the very file (SPEC 4). Case and
 * file-system disguises are ignored, so a checkout elsewhere cannot turn a harmless name into one of these.
 */
import { gitName } from './git-names.ts';

/** Obeyed or executed wherever they lie. */
const ANYWHERE = new Set(['.gitattributes']);
/** Folders of hooks wherever they lie (monorepos point core.hooksPath below the root). */
const HOOK_FOLDERS = new Set(['.husky', '.githooks']);

/** Read at the root only. */
const AT_ROOT = new Set([
  'agent-execution.md',
  '.gitmodules',
  '.lfsconfig',
  '.pre-commit-config.yaml',
  '.overcommit.yml',
  'lefthook.yml',
  'lefthook.yaml',
  '.lefthook.yml',
  '.lefthook.yaml',
  'lefthook-local.yml',
  '.gitlab-ci.yml',
  '.travis.yml',
  '.drone.yml',
  '.drone.star',
  '.cirrus.yml',
  '.cirrus.star',
  '.woodpecker.yml',
  '.woodpecker.yaml',
  '.build.yml',
  'appveyor.yml',
  '.appveyor.yml',
  'azure-pipelines.yml',
  'azure-pipelines.yaml',
  'bitbucket-pipelines.yml',
  'cloudbuild.yaml',
  'cloudbuild.yml',
  'buildspec.yml',
  'jenkinsfile',
  'codemagic.yaml',
]);

/** Folders at the root whose files CI runs. */
const CI_FOLDERS = [
  '.github/workflows',
  '.github/actions',
  '.gitea/workflows',
  '.forgejo/workflows',
  '.gitlab/ci',
  '.circleci',
  '.buildkite',
  '.woodpecker',
  '.semaphore',
  '.teamcity',
  '.azure-pipelines',
  '.builds',
  '.tekton',
].map((folder) => `${folder}/`);

/** True where `path` (repository-relative, POSIX) may change only when the packet names it literally. */
export function isExecutedPath(path: string): boolean {
  const segments = path.split('/').map(gitName);
  const folded = segments.join('/');
  return (
    ANYWHERE.has(segments.at(-1) ?? '') ||
    segments.some((segment) => HOOK_FOLDERS.has(segment)) ||
    AT_ROOT.has(folded) ||
    CI_FOLDERS.some((folder) => folded.startsWith(folder) || `${folded}/` === folder)
  );
}
