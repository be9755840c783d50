/** The attempt's workspace as every part of this folder knows it: plain data, so that a journal can carry it. */
import type { RepositoryFacts } from '../model/plan.ts';

/** All paths are absolute and real: no symlink, no component that starts with a dot. */
export interface Workspace {
  /** The detached worktree the worker works in. */
  readonly path: string;
  /** The attempt's private repository. */
  readonly privateGitDir: string;
  /** The worktree's own git directory inside the private repository. */
  readonly worktreeGitDir: string;
  /** The canonical repository it was made from. */
  readonly facts: RepositoryFacts;
  readonly base: string;
  /** Device and inode of `path` at creation: whatever else stands there later is not the workspace. */
  readonly identity: string;
}

/** Why no workspace could be made that provably holds base. */
export interface WorkspaceProblem {
  readonly reason: /** The folder cannot be used: a component starts with a dot, or it is not there. */
    | 'path-refused'
    /** Git could not check base out: objects are missing, the disk is full, a name cannot exist here. */
    | 'checkout-failed'
    /** What is on disk is not what base holds. */
    | 'not-base'
    /** A file that a setup command left cannot be read. */
    | 'unreadable';
  readonly message: string;
}
