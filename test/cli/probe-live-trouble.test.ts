/**
 * `probe --live` where something breaks in the midst of it: what was learned is printed, who may have been asked is never
 * called unasked, and the exit code tells whether a person must look.
 */
import { appendFileSync, existsSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { World } from '../run/world.ts';
import { NEEDS_ROOT, smallDisk } from '../store/temporary.ts';
import { claude, live, OBEY, profilesOf, start } from './live-world.ts';

describe('trouble in the midst', () => {
  /** A worker that takes away what is behind its workspace, and then ends well. */
  const removing = (what: string): string => `${OBEY}; run=$(dirname "$(dirname "$(dirname "$PWD")")"); ${what}; true`;
  test.each([
    ['removes its run', 'rm -rf "$run"', true],
    ['moves its run', 'mv "$run" @D@/elsewhere', true],
    ['removes all attempts', 'rm -rf "$run/attempts"', true],
    ['empties the state root', 'rm -rf "$(dirname "$run")"/*', true],
    ['removes the state root', 'rm -rf "$(dirname "$run")"', false],
    ['moves the temporary repository', 'mv "$(dirname "$run")"/live-* @D@/elsewhere', true],
  ])('a worker that %s has failed, and the others are asked where that is possible', async (_, what, goesOn) => {
    const world = new World();
    world.configure({ first: { script: OBEY }, bad: { script: removing(what) }, last: { script: OBEY } }, [
      'isolation: none',
    ]);
    const said = await live(world, ['--json']);
    const results = profilesOf(said).map(({ profile, result }) => [profile, result]);
    expect(results.slice(0, 2)).toEqual([
      ['first', 'pass'],
      ['bad', 'failed'],
    ]);
    expect(results[2]).toEqual(goesOn ? ['last', 'pass'] : undefined);
    expect(JSON.parse(said.out).notes).toEqual(goesOn ? [] : ['Not asked: last.']);
    for (const folder of profilesOf(said)[1]?.kept ?? []) expect(existsSync(folder)).toBe(true);
    expect(said.code).toBe(6);
  });

  test('a state root that cannot be written before the first request: nobody was asked', async () => {
    const world = new World();
    world.configure({ one: { script: OBEY }, two: { script: OBEY } });
    const spoil = (text: string): void => {
      if (text.startsWith('probe --live asks')) renameSync(world.state, join(world.folder, 'away'));
    };
    const said = await live(world, ['--json'], { onNote: spoil });
    expect(JSON.parse(said.out)).toMatchObject({
      profiles: [],
      notes: ['Not asked: one, two.'],
      errors: [{ code: 'STATE_ROOT_INVALID' }],
    });
    expect(said.code).toBe(3);
  });

  test('and after one: what is known is printed, and a person must look', async () => {
    const world = new World();
    world.configure({ one: { script: OBEY }, two: { script: OBEY } });
    const spoil = (text: string): void => {
      if (/^01-one +success/.test(text)) renameSync(world.state, join(world.folder, 'away'));
    };
    const said = await live(world, ['--json'], { onNote: spoil });
    expect(profilesOf(said).map(({ profile }) => profile)).toEqual(['one']);
    expect(JSON.parse(said.out)).toMatchObject({
      notes: ['Not asked: two.'],
      errors: [{ code: 'STATE_ROOT_INVALID' }],
    });
    expect(said.code).toBe(6);
  });

  test('state that is lost while a profile is asked: it is named, not called unasked', async (context) => {
    const disk = smallDisk(8 * 1024 * 1024);
    if (disk === null) return context.skip(NEEDS_ROOT);
    try {
      const world = new World();
      world.configure({ one: { script: OBEY }, two: { script: OBEY } });
      const fill = (text: string): void => {
        const run = /^run (\S+): 01-one/.exec(text)?.[1];
        if (run === undefined) return;
        // To the end of its page, so that not one line more finds room.
        const journal = join(disk.path, 'state', run, 'journal.jsonl');
        appendFileSync(journal, ' '.repeat(4096 - (statSync(journal).size % 4096)));
        expect(() => {
          for (;;) appendFileSync(join(disk.path, 'filler'), Buffer.alloc(512));
        }).toThrow('ENOSPC');
      };
      const said = await live(world, ['--json', '--state-dir', join(disk.path, 'state')], { onNote: fill });
      expect(JSON.parse(said.out)).toMatchObject({
        profiles: [],
        notes: ['Asked without an answer: one. It may have spent quota.', 'Not asked: two.'],
        errors: [{ code: 'STATE_ROOT_INVALID', message: expect.stringContaining('ENOSPC') }],
      });
      expect(said.code).toBe(6);
    } finally {
      disk.unmount();
    }
  });

  test('a bug after the first answer leaves that answer, and names the profile it struck', async () => {
    const world = new World();
    world.configure({ one: { script: OBEY }, two: { script: OBEY }, three: { script: OBEY } });
    const spoil = (text: string): void => {
      const run = /^run (\S+): 01-two/.exec(text)?.[1];
      // No worker runs yet: only a bug of ours could have put that there.
      if (run !== undefined) mkdirSync(join(world.state, run, 'ignore-rules'));
    };
    const { settled, said } = start(world, ['--json'], { onNote: spoil });
    await expect(settled).rejects.toThrow(/EEXIST.*internal-error\.txt/);
    expect(profilesOf(said).map(({ profile, result }) => [profile, result])).toEqual([['one', 'pass']]);
    expect(JSON.parse(said.out).notes).toEqual([
      'Asked without an answer: two. It may have spent quota.',
      'Not asked: three.',
    ]);
    expect(process.listenerCount('SIGHUP')).toBe(0);
  });

  test('a receipt that cannot be kept any more is said, and spoils a pass', async () => {
    const world = new World();
    world.configure({ one: { script: OBEY }, refused: claude('claude-401') });
    const kept = join(world.folder, 'kept');
    const spoil = (text: string): void => {
      const name = /^01-(\w+) +(success|unavailable)/.exec(text)?.[1];
      if (name !== undefined) mkdirSync(join(kept, `${name}.json`));
    };
    const said = await live(world, ['--json', '--receipts', kept], { onNote: spoil });
    expect(profilesOf(said)).toMatchObject([
      { profile: 'one', result: 'failed', code: 'RECEIPT_WRITE_FAILED', receipt: null },
      { profile: 'refused', result: 'unavailable', receipt: null },
    ]);
    expect(JSON.parse(said.out).notes).toEqual(
      ['one', 'refused'].map((name) => `The receipt of ${name} could not be written to ${join(kept, `${name}.json`)}.`),
    );
    expect(said.code).toBe(6);
  });

  test('a folder that cannot be removed is said', async () => {
    const world = new World();
    world.configure({ asleep: { script: OBEY, lines: ['enabled: false'] } });
    let home = '';
    const spoil = (text: string): void => {
      if (!/^01-asleep +unavailable/.test(text)) return;
      home = join(world.state, readdirSync(world.state).find((name) => name.startsWith('live-')) ?? '');
      renameSync(home, join(world.folder, 'away'));
      // What is not a folder is not ours, and stays.
      writeFileSync(home, '');
    };
    const said = await live(world, ['asleep', '--json'], { onNote: spoil });
    expect(profilesOf(said)).toMatchObject([{ result: 'unavailable', code: 'DISABLED', kept: [home] }]);
    expect(JSON.parse(said.out).notes).toEqual([`${home} could not be removed.`]);
    expect(said.code).toBe(4);
  });
});
