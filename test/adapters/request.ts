/** An invocation request with nothing special about it, and reading a whole stream at once. */
import type {
  Adapter,
  InvocationRequest,
  Observation,
  ReaderFacts,
  Stream,
  WorkerReport,
} from '../../src/model/adapter.ts';

export const request = (given: Partial<InvocationRequest> = {}): InvocationRequest => ({
  workspace: '/run/attempt/workspace',
  model: null,
  effort: null,
  prompt: 'This is one bounded unit of work.',
  promptFile: '/run/attempt/prompt.md',
  resultFile: '/run/attempt/result.txt',
  timeoutSeconds: 900,
  isolation: 'guard',
  runningAsRoot: false,
  environmentNames: ['HOME', 'PATH'],
  environment: { HOME: '/home/u', PATH: '/bin' },
  existingLoginFiles: [],
  ...given,
});

export interface Read {
  readonly report: WorkerReport;
  readonly observations: readonly Observation[];
}

/** `e> ` before a line means stderr; everything else is stdout. */
export function readLines(adapter: Pick<Adapter, 'reader'>, lines: readonly string[], facts?: ReaderFacts): Read {
  const reader = adapter.reader(facts);
  const observations = lines.flatMap((line) => {
    const stream: Stream = line.startsWith('e> ') ? 'stderr' : 'stdout';
    return reader.read(stream, stream === 'stderr' ? line.slice(3) : line);
  });
  return { report: reader.report(), observations };
}
