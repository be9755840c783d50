/** Drives agent-exec: a custom adapter around the worker, work found in its refs and in the workspaces that it kept. */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { findInCommits, findInFolder } from '../driver.mjs';
import { launch } from '../launch.mjs';

const TOOL = process.env.AGENT_EXEC_TOOL ?? fileURLToPath(new URL('../../dist/agent-exec.mjs', import.meta.url));
const ANSWER_BYTES = 4096;

const configuration = (world, { isolation, timeoutSeconds }) => `# Who may work here

\`\`\`agent-execution
schema: agent-execution/v1
execution:
  fresh_process_per_unit: true
  permission: run-everything
  fallback_to_host: never
  max_parallel: 1
  timeout_seconds: ${timeoutSeconds}
  isolation: ${isolation}
  summary_bytes: ${ANSWER_BYTES}
  raw_output_bytes: 1048576
roles:
  repair: [hostile]
profiles:
  hostile:
    adapter: hostile
    executable: ${world.worker}
custom_adapters:
  hostile:
    base_argv: []
    run_everything_argv: []
    workspace_argv: []
    model_argv: []
    prompt_transport: stdin
    output_format: text
    pass_env: [CONFORMANCE_KEY]
    refusal_prefixes: ["provider error:"]
    refusal_source: docs/refusals.txt
\`\`\`
`;

const stateOf = (world) => path.join(world.folder, 'state');
const below = (folder) => (existsSync(folder) ? readdirSync(folder).map((name) => path.join(folder, name)) : []);

/** Workspaces that are still there, of runs that ended and of runs whose controller was killed. */
const workspaces = (world) =>
  below(stateOf(world))
    .flatMap((run) => below(path.join(run, 'attempts')))
    .flatMap(below)
    .filter((folder) => !/\/(?:logs|tmp|private\.git|[^/]*\.(?:md|json|txt))$/.test(folder));

/** @type {import('../driver.mjs').Driver} */
export default {
  name: 'agent-exec',
  isolations() {
    const works =
      spawnSync('bwrap', ['--dev-bind', '/', '/', '--unshare-pid', 'true'], { stdio: 'ignore' }).status === 0;
    return works ? ['guard', 'strict', 'none'] : ['none'];
  },
  owned: /^(?:refs\/agent-exec(?:-quarantine)?\/|\.git\/agent-exec(?:\/|$))/,
  answerBytes: ANSWER_BYTES,
  answersJson: true,
  detectsOnly: {
    // A second name of a file lies where the worker may write; and what is not there cannot be made read-only.
    guard: ['old-hard-link', 'clone-shares-objects', 'home-config'],
    // The worker has all of the user's rights: what it does to the canonical repository is noticed, and no success.
    none: [
      ...['absolute-write', 'absolute-removal', 'absolute-rename', 'absolute-chmod', 'new-file-in-checkout'],
      ...['uncommitted-work-reset', 'hard-link', 'old-hard-link', 'symlinked-folder', 'remount', 'own-namespaces'],
      ...['moves-a-branch-by-path', 'deletes-refs', 'switches-the-checkout', 'prunes-objects', 'breaks-an-object'],
      ...['grafts', 'alternates', 'hooks-by-path', 'config-by-path', 'lock-in-canonical', 'submodule-of-checkout'],
      ...['included-config', 'other-worktree', 'separate-git-dir', 'home-config', 'clone-shares-objects'],
    ],
  },

  prepare(world, request) {
    world.write('AGENT-EXECUTION.md', configuration(world, request));
  },

  async run(world, { timeoutSeconds, allowed, network, limitSeconds, signal, umask }) {
    const unit = {
      unit_id: 'conformance',
      goal: 'Append one line to src/a.txt.',
      allowed_paths: allowed,
      verification: [],
      constraints: [],
      network,
      external_cost: 'subscription',
      timeout_seconds: timeoutSeconds,
    };
    const packet = path.join(world.folder, 'unit.json');
    writeFileSync(packet, JSON.stringify(unit));
    const receipt = path.join(world.records, 'receipt.json');
    const command = [process.execPath, TOOL, 'run', '--role', 'repair', '--json', '--unit', packet];
    const places = [
      '--receipt',
      receipt,
      '--telemetry',
      path.join(world.records, 'calls.jsonl'),
      '--state-dir',
      stateOf(world),
    ];
    const done = await launch(world, [...command, ...places], { limitSeconds, signal, umask });
    // A runner that was killed is judged by what its own repair makes of it.
    if (done.signal !== null) {
      await launch(world, [process.execPath, TOOL, 'recover', '--state-dir', stateOf(world)], { limitSeconds });
    }
    const refs = world
      .git('for-each-ref', '--format=%(refname)', 'refs/agent-exec', 'refs/agent-exec-quarantine')
      .split('\n')
      .filter(Boolean);
    const messages = refs.map((ref) => ({
      name: `message of ${ref}`,
      text: world.git('log', '-1', '--format=%B', ref),
    }));
    return {
      ...done,
      exit: done.code ?? done.signal,
      claimsSuccess: done.code === 0,
      artefacts: [world.records],
      texts: messages,
      privateLogs: [stateOf(world)],
      findWork: (name) => [
        ...findInCommits(world.repo, refs, world.base, name),
        ...workspaces(world).flatMap((folder) => findInFolder(folder, name)),
      ],
    };
  },
};
