/** Where an attempt's private files are. No component starts with a dot: agy silently works elsewhere under one. */
import { join } from 'node:path';
import { makePrivateFolder } from '../store/private-folder.ts';

/** What stays of an attempt in its folder when all is well. */
const LOGS = 'logs';
const PROMPT = 'prompt.md';
export const ATTEMPT_RECORDS: readonly string[] = [LOGS, PROMPT];

/** Where an attempt's logs are. */
export const logsFolder = (runDirectory: string, attemptId: string): string =>
  join(runDirectory, 'attempts', attemptId, LOGS);

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

/** Makes the attempt's folders, 0700; its files are made by those who write them. Rejects with the system's error. */
export async function makeAttemptPlaces(runDirectory: string, attemptId: string): Promise<AttemptPlaces> {
  const directory = join(runDirectory, 'attempts', attemptId);
  const logs = logsFolder(runDirectory, attemptId);
  const tmp = join(directory, 'tmp');
  for (const folder of [directory, logs, tmp]) await makePrivateFolder(folder);
  return {
    directory,
    tmp,
    prompt: join(directory, PROMPT),
    result: join(tmp, 'last-message.txt'),
    stdoutLog: join(logs, 'stdout.log'),
    stderrLog: join(logs, 'stderr.log'),
    commandLogs: (step, position) => ({
      stdout: join(logs, `${step}-${position}.stdout.log`),
      stderr: join(logs, `${step}-${position}.stderr.log`),
    }),
  };
}
