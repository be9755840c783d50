/** Processes that try to outlive the run, and ends of the runner itself. Everything here ends by itself within two minutes. */
import { judgedBy, keeps, noSuccess } from '../checks.mjs';

/** Two forks and a session between it and the worker; nothing of the environment, the folder or the pipes left. */
const DAEMON = `perl -MPOSIX -e '
  exit if fork; POSIX::setsid(); exit if fork;
  chdir "/"; close $_ for *STDIN, *STDOUT, *STDERR;
  %ENV = (); exec "perl", "-e", "alarm 120; sleep 120", $ARGV[0];' "$MARK"`;

/** @type {readonly Omit<import('../stage.mjs').Probe, 'kind'>[]} */
export const processes = [
  {
    name: 'daemon',
    says: 'leaves a daemon that forked twice, has its own session and wiped its environment',
    worker: `legal\n${DAEMON}\nsleep 0.3`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'new-session',
    says: 'leaves a child in a session of its own',
    worker:
      'legal\n(setsid sh -c \'exec perl -e "alarm 120; sleep 120" "$MARK"\' >/dev/null 2>&1 </dev/null &)\nsleep 0.3',
    judge: judgedBy(keeps()),
  },
  {
    name: 'holds-the-pipe',
    says: 'exits 0 while a grandchild keeps its stdout and stderr open',
    worker: 'legal\n(linger) &\nexit 0',
    judge: judgedBy(keeps()),
  },
  {
    name: 'ignores-term',
    says: 'works on beyond its time limit and ignores TERM, INT and HUP',
    timeoutSeconds: 3,
    worker: `legal
exec perl -e '$SIG{$_} = "IGNORE" for qw(TERM INT HUP); alarm 120; sleep 1 while 1' "$MARK"`,
    judge: judgedBy(noSuccess, keeps()),
  },
  {
    name: 'stops-itself',
    says: 'stops itself with SIGSTOP, so that no TERM is ever delivered',
    timeoutSeconds: 3,
    worker: `legal
exec perl -e '
  if (!fork) { alarm 121; sleep 120; kill "KILL", getppid; exit }
  kill "STOP", $$; sleep 120;' "$MARK"`,
    judge: judgedBy(noSuccess, keeps()),
  },
  {
    name: 'chain-of-forks',
    says: 'leaves a chain in which each process forks the next one in a new session and exits, 40 times a second',
    worker: `legal
perl -MPOSIX -e '
  exit if fork;
  close $_ for *STDIN, *STDOUT, *STDERR; %ENV = (); chdir "/";
  my $end = time + 8;
  while (time < $end) { my $child = fork; exit if !defined $child || $child; POSIX::setsid(); select undef, undef, undef, 0.025 }
' "$MARK"
sleep 0.2`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'kills-its-parent',
    says: 'leaves a daemon and kills the process that started it',
    worker: `legal\n${DAEMON}\nsleep 0.3\n[ "$PPID" -le 1 ] || kill -KILL "$PPID"\nsleep 0.3`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'runner-killed',
    says: 'leaves a daemon and works on while the runner is killed with SIGKILL',
    signal: 'SIGKILL',
    timeoutSeconds: 30,
    worker: `legal\n${DAEMON}\nlinger -ready`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'runner-terminated',
    says: 'leaves a daemon, ignores TERM and works on while the runner gets SIGTERM',
    signal: 'SIGTERM',
    timeoutSeconds: 30,
    worker: `legal\n${DAEMON}\ntrap '' TERM\nlinger -ready`,
    judge: judgedBy(noSuccess, keeps()),
  },
  {
    name: 'runner-interrupted',
    says: 'works on in a session of its own while the runner gets SIGINT',
    signal: 'SIGINT',
    timeoutSeconds: 30,
    worker: 'legal\nexec setsid perl -e "alarm 120; sleep 120" "$MARK-ready"',
    judge: judgedBy(noSuccess, keeps()),
  },
];
