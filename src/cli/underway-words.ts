/** A run without a receipt in words: what its plan and its journal tell, while it is under way or after it was cut off. */
import { existsSync } from 'node:fs';
import type { PlanRecord } from '../model/plan-record.ts';
import { unreachable } from '../model/result.ts';
import { type AttemptStory, attemptStories } from '../run/attempt-story.ts';
import type { RunState } from '../store/run-state.ts';
import { ageOf } from './age.ts';
import { attemptWords } from './attempt-words.ts';
import { isWaiting } from './listed-run.ts';
import { nextCommand, shellWord } from './next-command.ts';
import type { NextStep } from './next-steps.ts';
import { endWords, isolationWords, modelWords } from './ran-words.ts';
import { nextWords } from './receipt-words.ts';
import { firstOf, moment, told } from './told.ts';

/** The lines. */
export function underwayWords(run: RunState, stateDir: string | undefined, now: Date): string[] {
  const { place, plan, journal } = run;
  const stories = attemptStories(journal);
  return [
    `run ${place.runId}: ${headline(run)}`,
    ...(plan === null ? [] : planWords(plan, now)),
    ...told('directory', shellWord(place.path)),
    ...told('bug', existsSync(place.internalError) ? `agent-exec failed: ${shellWord(place.internalError)}` : null),
    ...stories.flatMap((story) => ['', ...storyWords(story, run.phase === 'running', now)]),
    ...nextWords(stepsOf(run, stories, stateDir)),
  ];
}

function headline(run: RunState): string {
  const { phase, controller } = run;
  const who = `agent-exec (process ${controller?.pid ?? 'unknown'})`;
  switch (phase) {
    case 'running':
      return isWaiting(run)
        ? `waiting for its turn: as many runs of the repository as max_parallel allows are under way`
        : `running, ${who} is at work`;
    case 'unfinished':
      return `unfinished, ${who} died before it could account for it`;
    case 'unknown':
      return `unknown, ${who} is in another container or on another host and cannot be looked at from here`;
    case 'unaccountable':
      return 'unaccountable, neither its plan nor a receipt can be read';
    case 'finished':
      return 'finished';
    default:
      return unreachable(phase);
  }
}

const planWords = (
  { unit, role, repository, base, started_at: start, candidates }: PlanRecord,
  now: Date,
): string[] => [
  ...told('unit', `${unit.unit_id}, in the role ${role.name}`),
  ...told('allowed', firstOf(unit.allowed_paths, 8).join(' ')),
  ...told('base', `${base.slice(0, 12)} of ${shellWord(repository.worktree)}`),
  ...told('started', `${moment(start)} (${ageOf(new Date(start), now)} ago)`),
  ...told(
    'candidates',
    firstOf(
      candidates.map(({ attempt_id: id }) => id),
      12,
    ).join(', '),
  ),
];

const STEPS: Readonly<Record<string, string>> = {
  probe: 'looking whether the CLI can run',
  workspace: 'making its workspace',
  setup: 'running the setup commands',
  worker: 'waiting for the worker',
  preserve: 'putting its work into a commit',
  verification: 'running the verification commands',
  cleanup: 'cleaning up',
  demote: 'moving its commit to quarantine',
};

function storyWords(story: AttemptStory, isRunning: boolean, now: Date): string[] {
  if (story.record !== null) return attemptWords(story.record);
  const { worker, workspace, kept, startedAt } = story;
  const step = `${STEPS[story.lastStep] ?? story.lastStep}`;
  return [
    `${story.attemptId}: ${isRunning ? `under way, ${step}` : `cut off while ${step}`}`,
    ...told('started', `${moment(startedAt.toISOString())} (${ageOf(startedAt, now)} ago)`),
    ...told('CLI', programOf(story)),
    ...told('model', worker.begun === null ? null : modelWords({ ...worker.begun.model, reported: null })),
    ...told('isolation', worker.begun === null ? null : isolationWords(worker.begun.isolation)),
    ...told('process', worker.leader === null || worker.ended !== null ? null : String(worker.leader.pid)),
    ...told('ended', worker.ended === null ? null : endWords(worker.ended.termination)),
    ...told(
      'transport',
      kept?.transport == null ? null : `${kept.transport.commit.slice(0, 12)} ${kept.transport.ref}`,
    ),
    ...told(
      'quarantine',
      kept?.quarantine == null ? null : `${kept.quarantine.commit.slice(0, 12)} ${kept.quarantine.ref}`,
    ),
    ...told('workspace', workspace === null || !existsSync(workspace.path) ? null : shellWord(workspace.path)),
  ];
}

function programOf({ worker }: AttemptStory): string | null {
  const probe = worker.begun?.probe;
  if (probe === undefined) return null;
  return `${shellWord(probe.executable ?? '-')}, version ${probe.version ?? 'unknown'}`;
}

function stepsOf(
  { phase, place }: RunState,
  stories: readonly AttemptStory[],
  stateDir: string | undefined,
): NextStep[] {
  const say = (why: string, ...words: string[]): NextStep => ({ command: nextCommand(words, { stateDir }), why });
  const folder = stories.findLast(({ record, workspace }) => record === null && workspace !== null)?.workspace?.path;
  const look: NextStep[] =
    folder === undefined || !existsSync(folder)
      ? []
      : [{ command: `cd ${shellWord(folder)}`, why: 'the workspace, as it is' }];
  switch (phase) {
    case 'running':
      return [say('watch it; Ctrl-C ends the watching only', 'logs', place.runId, '--follow')];
    case 'unfinished':
      return [say('finish it: nothing that it wrote is lost', 'recover', place.runId), ...look];
    case 'unknown':
      return [say('only if its agent-exec is gone for sure', 'recover', place.runId, '--assume-gone'), ...look];
    case 'unaccountable':
      return [{ command: `ls -lR ${shellWord(place.path)}`, why: 'what is left of it' }];
    case 'finished':
      return [];
    default:
      return unreachable(phase);
  }
}
