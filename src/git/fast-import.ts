/**
 * The input of `git fast-import` for one commit, which answers with the commit's name and a line `040000 tree NAME`: a base tree, then deletions, then files. Deletions come first, so that
 * a file may take a folder's place and the other way round. Contents are streamed; the announced size is kept to, or
 * the stream ends in an error before `done`, without which fast-import makes no commit.
 */
import { encodePath, type RepoPath } from '../model/path.ts';
import { quoteBytes } from './quote.ts';

/** One difference from the base tree. `mode` null deletes; otherwise `size` must be what `readContent` yields. */
export interface CommitEntry {
  readonly path: RepoPath;
  readonly mode: string | null;
  readonly size: number | null;
  /** The blob's name where it is known; the finished commit must agree. */
  readonly oid: string | null;
}

/** The bytes of a file, or of a symlink its target. */
export type ReadContent = (path: RepoPath) => AsyncIterable<Uint8Array>;

export interface CommitRequest {
  readonly ref: string;
  readonly baseTree: string;
  readonly parents: readonly string[];
  readonly entries: readonly CommitEntry[];
  readonly message: string;
  /** Seconds since the epoch. */
  readonly committedAtSeconds: number;
  readonly author: string;
  readonly readContent: ReadContent;
}

/** What a file held is not what was counted before: it changed, or it cannot be read. */
export class ContentError extends Error {
  override readonly name = 'ContentError';
  readonly path: RepoPath;

  constructor(path: RepoPath, message: string, options?: ErrorOptions) {
    super(message, options);
    this.path = path;
  }
}

const name = (path: RepoPath): string => quoteBytes(encodePath(path));

/** The stream; rejects with {@link ContentError} where a file is not what was counted. */
export async function* fastImportStream(request: CommitRequest): AsyncGenerator<Uint8Array> {
  const { entries, parents } = request;
  const message = Buffer.from(request.message);
  const date = `${request.committedAtSeconds} +0000`;
  yield Buffer.from(
    [
      `commit ${request.ref}`,
      'mark :1',
      `author ${request.author} ${date}`,
      `committer ${request.author} ${date}`,
      `data ${message.length}\n`,
    ].join('\n'),
  );
  yield message;
  yield Buffer.from('\n');
  yield Buffer.from(parents.map((parent, i) => `${i === 0 ? 'from' : 'merge'} ${parent}\n`).join(''));
  yield Buffer.from(`M 040000 ${request.baseTree} ""\n`);
  for (const { path } of entries.filter(({ mode }) => mode === null)) yield Buffer.from(`D ${name(path)}\n`);
  for (const entry of entries) if (entry.mode !== null) yield* fileOf(entry, request.readContent);
  yield Buffer.from('get-mark :1\nls :1 ""\ndone\n');
}

async function* fileOf({ path, mode, size }: CommitEntry, readContent: ReadContent): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`M ${mode} inline ${name(path)}\ndata ${size}\n`);
  let left = size ?? 0;
  try {
    for await (const chunk of readContent(path)) {
      left -= chunk.length;
      if (left < 0) break;
      yield chunk;
    }
  } catch (error) {
    throw new ContentError(path, error instanceof Error ? error.message : String(error), { cause: error });
  }
  if (left !== 0) throw new ContentError(path, `is ${left < 0 ? 'longer' : 'shorter'} than the ${size} bytes counted`);
  yield Buffer.from('\n');
}

/** Joins small pieces into larger ones: a pipe write costs more than a copy. */
export async function* batched(pieces: AsyncIterable<Uint8Array>, size = 256 * 1024): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    waiting.push(piece);
    length += piece.length;
    if (length < size) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    length = 0;
  }
  if (length > 0) yield Buffer.concat(waiting);
}
