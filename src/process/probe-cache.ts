/**
 * Remembers what an executable printed when it was probed, in memory and in a private file. It holds observations, never
 * verdicts, and only of probes that went well: a repaired or updated program is seen at once, and so is a newer adapter.
 * A file that cannot be read or is not what it should be is an empty cache.
 */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import * as z from 'zod';
import type { ProbeOutput, Unavailable } from '../model/adapter.ts';
import type { Executable } from './executable.ts';

const entry = z.strictObject({
  at: z.int().min(0),
  outputs: z.array(z.strictObject({ stdout: z.string(), stderr: z.string(), code: z.int().nullable() })),
});
const file = z.strictObject({ schema: z.literal('agent-exec-probe-cache/v1'), entries: z.record(z.string(), entry) });
type Entries = z.infer<typeof file>['entries'];

/** Launchers that load their program from elsewhere do not change with it, so no answer is believed for longer. */
const MAX_AGE_MS = 24 * 60 * 60 * 1000;
const MAX_ENTRIES = 64;
const MAX_BYTES = 32 * 1024 * 1024;

export interface ProbeAnswer {
  readonly unavailable: Unavailable | null;
  /** What to start; null where it was not found or not good. */
  readonly executable: Executable | null;
  readonly version: string | null;
  /** A scratch directory that could not be removed; null otherwise. */
  readonly leftover: string | null;
}

export interface ProbeCache {
  get(key: string): Promise<readonly ProbeOutput[] | null>;
  put(key: string, outputs: readonly ProbeOutput[]): Promise<void>;
  /** Runs `work`, or joins it where it is already under way: profiles that share a program ask it once. */
  shared(key: string, work: () => Promise<ProbeAnswer>): Promise<ProbeAnswer>;
}

async function readEntries(path: string, now: number): Promise<Entries> {
  let text: string;
  try {
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const facts = await handle.stat();
      if (!facts.isFile() || facts.size > MAX_BYTES) return {};
      text = await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch {
    // Not there, not readable, a symlink: the answer in every case is that nothing is known.
    return {};
  }
  return Object.fromEntries(
    Object.entries(parseEntries(text)).filter(([, { at }]) => at <= now && now - at < MAX_AGE_MS),
  );
}

function parseEntries(text: string): Entries {
  try {
    const read = file.safeParse(JSON.parse(text));
    return read.success ? read.data.entries : {};
  } catch {
    // Torn or foreign text is an empty cache.
    return {};
  }
}

async function writeEntries(path: string, entries: Entries): Promise<void> {
  const newest = Object.entries(entries)
    .sort(([, a], [, b]) => b.at - a.at)
    .slice(0, MAX_ENTRIES);
  const temporary = `${path}.${randomUUID()}`;
  const content: z.infer<typeof file> = {
    schema: 'agent-exec-probe-cache/v1',
    entries: Object.fromEntries(newest),
  };
  try {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(JSON.stringify(content));
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch {
    // A cache that cannot be written (full disk, folder gone) costs the next probe a second and nothing else.
    await rm(temporary, { force: true });
  }
}

/** `path`: a file in a private folder; null keeps the cache in memory only. `now`: milliseconds since the epoch. */
export function openProbeCache(path: string | null, now: () => number): ProbeCache {
  const memory = new Map<string, readonly ProbeOutput[]>();
  let stored: Promise<Entries> | null = null;
  // One write after the other, each upon what other processes have written meanwhile.
  let writing: Promise<void> = Promise.resolve();
  const underWay = new Map<string, Promise<ProbeAnswer>>();
  return {
    shared(key, work) {
      const running = underWay.get(key) ?? work().finally(() => underWay.delete(key));
      underWay.set(key, running);
      return running;
    },
    async get(key) {
      const known = memory.get(key);
      if (known !== undefined || path === null) return known ?? null;
      stored ??= readEntries(path, now());
      const entries = await stored;
      return Object.hasOwn(entries, key) ? (entries[key]?.outputs ?? null) : null;
    },
    async put(key, outputs) {
      memory.set(key, outputs);
      if (path === null) return;
      writing = writing.then(async () => {
        const entries = await readEntries(path, now());
        await writeEntries(path, { ...entries, [key]: { at: now(), outputs: [...outputs] } });
      });
      await writing;
    },
  };
}
