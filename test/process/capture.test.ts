import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openLog } from '../../src/process/capture.ts';
import { scratch } from './attempt.ts';
import { bundle } from './bundle.ts';

const MARKER = /\n\[agent-exec: (\d+) bytes of output are not kept here\]\n/;

describe('a log of bounded size', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = scratch();
    path = join(folder, 'out.log');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('keeps what fits as it is, private', () => {
    const log = openLog('stdout', path, 4096);
    log.write(Buffer.from('hello '));
    log.write(Buffer.from('world'));
    const { log: record, error } = log.finish();
    expect(readFileSync(path, 'utf8')).toBe('hello world');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(error).toBeNull();
    expect(record).toEqual({
      stream: 'stdout',
      path,
      bytes_seen: 11,
      bytes_kept: 11,
      sha256: `sha256:${createHash('sha256').update('hello world').digest('hex')}`,
    });
    expect(log.head().toString()).toBe('hello world');
  });

  test('whatever the chunks: the beginning and the newest bytes are kept, all is counted and hashed, nothing is left beside', () => {
    let round = 0;
    const chunk = fc.nat(9000);
    fc.assert(
      fc.property(fc.integer({ min: 4096, max: 8192 }), fc.array(chunk, { maxLength: 12 }), (limit, sizes) => {
        const file = join(folder, `${round++}.log`);
        const log = openLog('stderr', file, limit);
        let byte = 0;
        const parts = sizes.map((size) =>
          Buffer.from(Array.from({ length: size }, () => (byte = (byte * 7 + 3) % 251))),
        );
        for (const part of parts) log.write(part);
        const { log: record, error } = log.finish();
        const all = Buffer.concat(parts);
        const kept = readFileSync(file);
        expect(error).toBeNull();
        expect(record.bytes_seen).toBe(all.length);
        expect(record.sha256).toBe(`sha256:${createHash('sha256').update(all).digest('hex')}`);
        expect(kept.length).toBeLessThanOrEqual(limit);
        const dropped = Number(MARKER.exec(kept.toString('latin1'))?.[1] ?? 0);
        expect(record.bytes_kept).toBe(all.length - dropped);
        const [first = '', last = ''] = kept
          .toString('latin1')
          .split(MARKER)
          .filter((_, i) => i !== 1);
        if (dropped === 0) expect(kept.equals(all)).toBe(true);
        else {
          expect(all.subarray(0, first.length).toString('latin1')).toBe(first);
          expect(all.subarray(-last.length).toString('latin1')).toBe(last);
          expect(Math.abs(first.length - last.length)).toBeLessThanOrEqual(1);
        }
        expect(readdirSync(folder).filter((name) => name.endsWith('.tail'))).toEqual([]);
        expect(log.last().equals(all.subarray(-256))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test.each(['file', 'link', 'dangling link'])('never writes through an existing %s', (kind) => {
    const target = join(folder, 'target');
    if (kind === 'file') writeFileSync(path, 'mine');
    else symlinkSync(target, path);
    if (kind === 'link') writeFileSync(target, 'mine');
    expect(() => openLog('stdout', path, 4096)).toThrow(/EEXIST/);
    expect(existsSync(target) ? readFileSync(target, 'utf8') : 'mine').toBe('mine');
  });

  test('a full disk stops the keeping, not the counting, and is told', () => {
    const disk = join(folder, 'disk');
    // A file system of 64 KiB, seen only by this script.
    const script = `mkdir ${disk} && mount -t tmpfs -o size=65536 none ${disk} && exec node ${join(folder, 'bundle.mjs')} ${disk}/log`;
    bundle(
      `import { openLog } from '../../src/process/capture.ts';
      const log = openLog('stdout', process.argv[2], 1024 * 1024);
      for (let i = 0; i < 100; i++) log.write(Buffer.alloc(65536, 'x'));
      console.log(JSON.stringify(log.finish()));`,
      join(folder, 'bundle.mjs'),
    );
    const answer = execFileSync('unshare', ['--mount', 'sh', '-c', script], { encoding: 'utf8' });
    const { log, error } = JSON.parse(answer);
    expect(error).toBe('ENOSPC');
    expect(log.bytes_seen).toBe(100 * 65_536);
    expect(log.bytes_kept).toBeLessThanOrEqual(65_536);
    const all = Buffer.alloc(100 * 65_536, 'x');
    expect(log.sha256).toBe(`sha256:${createHash('sha256').update(all).digest('hex')}`);
  });
});
