/** What must hold between values: one named function for each rule, each finding with the rule's code. */
import { NAME } from '../model/config.ts';
import { RESULT_CONTRACTS } from '../model/worker-result.ts';
import {
  argvCommandLine,
  argvMetacharacters,
  builtInName,
  modelArgv,
  modelPlaceholder,
  passedVariables,
  placeholderForm,
  promptPlaceholder,
  requiredFlags,
} from './adapter-rules.ts';
import { errorAt, type Finding, quote, warningAt } from './finding.ts';
import {
  executableForm,
  instructionsFile,
  type ReadFile,
  refusalPrefixCount,
  refusalPrefixForm,
  refusalSource,
  repeated,
} from './path-rules.ts';
import {
  customExecutable,
  effortForm,
  effortOnce,
  effortPassed,
  isBuiltIn,
  knownAdapters,
  type MayBeLost,
  modelFamily,
  modelProvider,
  modelSlug,
} from './profile-rules.ts';
import { didYouMean, likelyWord } from './suggest.ts';
import type { PolicyView, ProfileView, RoleView } from './view.ts';

/** `mayBeLost`: a name that seems unknown may be defined in a part of the text that could not be read. */
export function checkRules(view: PolicyView, mayBeLost: MayBeLost, readFile: ReadFile | undefined): Finding[] {
  const roles = view.roles ?? [];
  const profiles = view.profiles ?? [];
  const adapters = view.customAdapters ?? [];
  const manyPrefixes = refusalPrefixCount(adapters);
  return [
    ...someRole(view),
    ...knownProfiles(view, mayBeLost),
    ...knownAdapters(view, mayBeLost),
    ...roles.flatMap((role) => [
      ...repeated(role.candidates, 'CANDIDATE_REPEATED', 'candidate'),
      ...knownContract(role),
      ...instructionsFile(role, readFile),
      ...anyEnabled(role, profiles),
    ]),
    ...profiles.flatMap((profile) => [
      ...(mayBeLost('executable') ? [] : customExecutable(profile, view)),
      ...executableForm(profile),
      ...modelSlug(profile),
      ...modelProvider(profile),
      ...modelFamily(profile),
      ...effortOnce(profile),
      ...effortForm(profile),
      ...effortPassed(profile, view),
    ]),
    ...(mayBeLost('roles') ? [] : unusedProfiles(view)),
    ...(mayBeLost('adapter') ? [] : unusedAdapters(view)),
    ...adapters.flatMap((adapter) => [
      ...builtInName(adapter),
      ...argvMetacharacters(adapter),
      ...argvCommandLine(adapter),
      ...placeholderForm(adapter),
      ...modelPlaceholder(adapter),
      ...promptPlaceholder(adapter),
      ...modelArgv(adapter, profiles),
      ...passedVariables(adapter),
      ...requiredFlags(adapter),
      ...refusalPrefixForm(adapter),
      ...refusalSource(adapter, manyPrefixes.length > 0 ? undefined : readFile),
    ]),
    ...manyPrefixes,
    ...setupCommands(view),
    ...reachableLimits(view),
  ];
}

function someRole({ roles, rolesSpan }: PolicyView): Finding[] {
  if (roles === null || roles.length > 0) return [];
  return [errorAt('NO_ROLES', rolesSpan, 'there is no role', 'Add one: repair: [claude].')];
}

function knownProfiles({ roles, profiles }: PolicyView, mayBeLost: MayBeLost): Finding[] {
  if (profiles === null) return [];
  const names = profiles.map(({ value }) => value);
  const known = new Set(names);
  return (roles ?? [])
    .flatMap(({ candidates }) => candidates)
    .filter(({ value }) => NAME.test(value) && !known.has(value) && !mayBeLost(value))
    .map(({ value, span }, index) => {
      const hint = likelyWord(index, value, names, 'profiles');
      return errorAt('UNKNOWN_PROFILE', span, `there is no profile ${quote(value)}`, hint);
    });
}

function knownContract({ result }: RoleView): Finding[] {
  if (result === null || result.value === '' || RESULT_CONTRACTS.some((name) => name === result.value)) return [];
  const hint = didYouMean(result.value, RESULT_CONTRACTS, 'contracts');
  return [errorAt('UNKNOWN_RESULT_CONTRACT', result.span, `there is no result contract ${quote(result.value)}`, hint)];
}

function anyEnabled({ value, span, candidates }: RoleView, profiles: readonly ProfileView[]): Finding[] {
  const known = profiles.filter((profile) => candidates.some((candidate) => candidate.value === profile.value));
  if (known.length === 0 || known.length < candidates.length || known.some(({ enabled }) => enabled)) return [];
  const message = `every candidate of ${quote(value)} is disabled`;
  return [warningAt('NO_ENABLED_CANDIDATE', span, message, 'Enable a profile, or the role can never do anything.')];
}

function unusedProfiles({ roles, profiles }: PolicyView): Finding[] {
  if (roles === null || roles.length === 0 || roles.some((role) => !role.listsCandidates)) return [];
  const used = new Set(roles.flatMap(({ candidates }) => candidates.map(({ value }) => value)));
  return (profiles ?? [])
    .filter(({ value }) => !used.has(value))
    .map(({ value, span }) =>
      warningAt(
        'UNUSED_PROFILE',
        span,
        `no role names the profile ${quote(value)}`,
        'Name it in a role, or remove it.',
      ),
    );
}

function unusedAdapters({ profiles, customAdapters }: PolicyView): Finding[] {
  if (profiles === null) return [];
  const used = new Set(profiles.map(({ adapter }) => adapter?.value));
  return (customAdapters ?? [])
    .filter(({ value }) => !used.has(value) && !isBuiltIn(value))
    .map(({ value, span }) =>
      warningAt('UNUSED_ADAPTER', span, `no profile uses the adapter ${quote(value)}`, 'Use it, or remove it.'),
    );
}

const SHELL_OPERATOR = /^(?:&&?|\|\|?|;|[0-9&]?>>?(?:&\d)?|<<?)$/;

/** Setup commands are started without a shell: an operator or a whole command line would be one strange argument. */
function setupCommands({ setup }: PolicyView): Finding[] {
  return setup.flatMap((argv) => {
    const [program, ...rest] = argv;
    const operator = rest.find(({ value }) => SHELL_OPERATOR.test(value));
    const found: Finding[] = [];
    if (program !== undefined && /\s/.test(program.value.trim())) {
      const message = `${quote(program.value)} is a command line, not a program`;
      const hint = 'Write each argument as an item of its own: [npm, ci].';
      found.push(errorAt('SETUP_COMMAND_LINE', program.span, message, hint));
    }
    if (operator !== undefined) {
      const message = `setup commands run without a shell, so ${quote(operator.value)} does nothing`;
      const hint = 'Write one command a line, or start a shell yourself: [sh, -c, "…"].';
      found.push(errorAt('SETUP_COMMAND_LINE', operator.span, message, hint));
    }
    return found;
  });
}

/** A limit that another one always comes before. */
function reachableLimits({ numbers }: PolicyView): Finding[] {
  const timeout = numbers.get('timeout_seconds');
  if (timeout === undefined) return [];
  return ['idle_timeout_seconds', 'provider_wait_seconds'].flatMap((key) => {
    const limit = numbers.get(key);
    if (limit === undefined || limit.value <= timeout.value) return [];
    const message = `${key} can never be reached: timeout_seconds is ${timeout.value}`;
    return [warningAt('LIMIT_UNREACHABLE', limit.span, message, 'Make it shorter than timeout_seconds.')];
  });
}
