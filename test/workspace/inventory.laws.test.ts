/** Laws of the inventory on random trees and random edits, against a diff computed by nothing but reading both sides. */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { takeInventory } from '../../src/workspace/inventory.ts';
import { inspectPrivateRepository, recordPrivateRepository } from '../../src/workspace/private-repository.ts';
import { removeWorkspace } from '../../src/workspace/remove.ts';
import { everything, lines, ready, sh, stage, survey, tempDir } from './fixture.ts';

const NAMES = ['a', 'b', 'c', '-d', 'é', 'x y', '*', '"', 'HEAD', 'objects'];
const place = fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
const content = fc.constantFrom('', 'one\n', 'two\n', 'three\r\n', 'n\0ul');

type Edit =
  | { readonly do: 'write'; readonly at: string; readonly content: string; readonly executable: boolean }
  | { readonly do: 'link'; readonly at: string; readonly target: string }
  | { readonly do: 'remove'; readonly at: string }
  | { readonly do: 'move'; readonly at: string; readonly to: string }
  | { readonly do: 'mode'; readonly at: string; readonly executable: boolean }
  | { readonly do: 'folder'; readonly at: string };

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ do: fc.constant('write' as const), at: place, content, executable: fc.boolean() }),
  fc.record({ do: fc.constant('link' as const), at: place, target: fc.constantFrom('a', 'b/c', 'nowhere') }),
  fc.record({ do: fc.constant('remove' as const), at: place }),
  fc.record({ do: fc.constant('move' as const), at: place, to: place }),
  fc.record({ do: fc.constant('mode' as const), at: place, executable: fc.boolean() }),
  fc.record({ do: fc.constant('folder' as const), at: place }),
);

/** Tries an edit; what cannot be done (a folder in the way, nothing there) is a step without effect. */
function apply(root: string, step: Edit): void {
  const at = join(root, step.at);
  try {
    if (step.do === 'remove') rmSync(at, { recursive: true });
    else if (step.do === 'folder') mkdirSync(at, { recursive: true });
    else if (step.do === 'mode') {
      if (lstatSync(at).isFile()) chmodSync(at, step.executable ? 0o755 : 0o644);
    } else if (step.do === 'move') {
      mkdirSync(dirname(join(root, step.to)), { recursive: true });
      renameSync(at, join(root, step.to));
    } else {
      mkdirSync(dirname(at), { recursive: true });
      if (step.do === 'link') symlinkSync(step.target, at);
      else {
        writeFileSync(at, step.content);
        chmodSync(at, step.executable ? 0o755 : 0o644);
      }
    }
  } catch {
    // See above.
  }
}

/** Every file and symlink below `root` but `.git`, as `mode oid`. */
function contents(root: string, below = '', found = new Map<string, string>()): Map<string, string> {
  const blob = (bytes: Buffer) => createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
  for (const name of readdirSync(join(root, below))) {
    const path = below === '' ? name : `${below}/${name}`;
    const at = join(root, path);
    const stat = lstatSync(at);
    if (path === '.git') continue;
    if (stat.isDirectory()) contents(root, path, found);
    else if (stat.isSymbolicLink()) found.set(path, `120000 ${blob(readlinkSync(at, { encoding: 'buffer' }))}`);
    else found.set(path, `${stat.mode & 0o100 ? '100755' : '100644'} ${blob(readFileSync(at))}`);
  }
  return found;
}

function difference(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const [old, now] = [before.get(path), after.get(path)];
    if (old === now) continue;
    if (now === undefined) found.push(`D ${path}`);
    else
      found.push(
        `${old === undefined ? 'A' : old.slice(0, 3) === now.slice(0, 3) ? 'M' : 'T'} ${path} ${now.slice(0, 6)}`,
      );
  }
  return found.sort((a, b) => Buffer.compare(Buffer.from(a.slice(2)), Buffer.from(b.slice(2))));
}

test('the inventory is the difference of both sides, whatever was done in whatever order', async () => {
  const edits = fc.array(edit, { maxLength: 25 });
  const { repo } = await stage('true');
  await fc.assert(
    fc.asyncProperty(edits, edits, async (making, working) => {
      sh(repo, 'find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -r {} +');
      for (const step of making) apply(repo, step);
      sh(repo, 'git add -A; git commit -qm tree --allow-empty');
      const { workspace, baseline, ignored } = await ready(await survey(tempDir(), repo));
      const before = contents(workspace.path);
      expect(before).toEqual(contents(repo));

      const record = await recordPrivateRepository(workspace);
      for (const step of working) apply(workspace.path, step);
      const inventory = await takeInventory({ workspace, baseline, scope: everything, ignored });
      if (inventory.kind !== 'taken') throw new Error(`an inventory that is ${inventory.kind}`);
      const after = contents(workspace.path);
      expect(lines(inventory)).toEqual(difference(before, after));
      for (const { path, mode, oid } of inventory.changes) {
        if (mode !== null) expect(after.get(path)).toBe(`${mode} ${oid}`);
      }
      expect((await inspectPrivateRepository(workspace, record)).violations).toEqual([]);
      expect(await removeWorkspace(workspace)).toMatchObject({ workspaceRemoved: true, problem: null });
    }),
    { numRuns: 25 },
  );
}, 180_000);
