/** What a run tells while it goes on. Data only; cli/progress.ts makes words of it. */
import type { Refusal } from '../model/observation.ts';
import type { Verdict } from '../verdict/classify.ts';

export type Phase = 'probe' | 'workspace' | 'setup' | 'worker' | 'inspection' | 'verification' | 'cleanup';

export type ProgressEvent =
  | {
      readonly kind: 'run-started';
      readonly runId: string;
      readonly directory: string;
      readonly candidates: readonly string[];
    }
  /** As many runs of the repository as its configuration allows are under way: this one waits. */
  | { readonly kind: 'queued'; readonly limit: number }
  | { readonly kind: 'attempt-started'; readonly attemptId: string; readonly position: number; readonly of: number }
  | { readonly kind: 'phase'; readonly attemptId: string; readonly phase: Phase }
  /** The worker did something readable; not redacted, not neutralised. */
  | { readonly kind: 'activity'; readonly attemptId: string; readonly text: string }
  | { readonly kind: 'waiting'; readonly attemptId: string; readonly refusal: Refusal }
  | {
      readonly kind: 'attempt-ended';
      readonly attemptId: string;
      readonly verdict: Verdict;
      readonly durationMs: number;
    };

export type Progress = (event: ProgressEvent) => void;
