/** Which processes carry a world's mark, by /proc, and how this suite ends those that a runner has left alive. */
import { readdirSync, readFileSync } from 'node:fs';

/** @typedef {{ pid: number, words: string }} Alive */

/** @param {readonly string[]} marks texts of which one occurs in the command line @returns {Alive[]} without zombies */
export function alive(marks) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
        if ('ZX'.includes(stat[stat.lastIndexOf(')') + 2] ?? '')) return [];
        const words = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ');
        return marks.some((mark) => words.includes(mark)) ? [{ pid: Number(name), words }] : [];
      } catch (error) {
        // It ended between the listing and the look.
        if (['ENOENT', 'ESRCH'].includes(error.code)) return [];
        throw error;
      }
    });
}

/**
 * Waits until none is left, but not for long: what a killed runner had tied to its own life is ended by the kernel, one
 * process after the other. @param {readonly string[]} marks
 */
export async function settle(marks) {
  for (let rounds = 0; rounds < 60 && alive(marks).length > 0; rounds++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Ends all of a world's processes, those that fork meanwhile too. @param {readonly string[]} marks */
export async function sweep(marks) {
  for (let quiet = 0, rounds = 0; quiet < 3 && rounds < 300; rounds++) {
    const found = alive(marks);
    quiet = found.length === 0 ? quiet + 1 : 0;
    for (const { pid } of found) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if (error.code !== 'ESRCH') throw error;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
