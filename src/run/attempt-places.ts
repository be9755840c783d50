/** Where an attempt's private files are. No component starts with a dot: agy silently works elsewhere under one. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface AttemptPlaces {
  readonly directory: string;
  /** The worker's TMPDIR, removed with the workspace. */
  readonly tmp: string;
  readonly prompt: string;
  /** A file that a CLI may write its last message to, inside `tmp`. */
  readonly result: string;
  readonly stdoutLog: string;
  readonly stderrLog: string;
  /** The log files of one of the host's own commands around the worker. */
  commandLogs(
    step: 'setup' | 'verification-setup' | 'verification',
    position: number,
  ): { stdout: string; stderr: string };
}

export async function makeAttemptPlaces(runDirectory: string, attemptId: string): Promise<AttemptPlaces> {
  const directory = join(runDirectory, 'attempts', attemptId);
  const logs = join(directory, 'logs');
  const tmp = join(directory, 'tmp');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const folder of [logs, tmp]) await mkdir(folder, { mode: 0o700 });
  return {
    directory,
    tmp,
    prompt: join(directory, 'prompt.md'),
    result: join(tmp, 'last-message.txt'),
    stdoutLog: join(logs, 'stdout.log'),
    stderrLog: join(logs, 'stderr.log'),
    commandLogs: (step, position) => ({
      stdout: join(logs, `${step}-${position}.stdout.log`),
      stderr: join(logs, `${step}-${position}.stderr.log`),
    }),
  };
}
