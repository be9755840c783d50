/** What the runner hands on to its worker, or should not: variables, descriptors, the network. */
import { createServer } from 'node:net';
import { judgedBy, keeps, tellsNothing } from '../checks.mjs';

/** @type {readonly Omit<import('../stage.mjs').Probe, 'kind'>[]} */
export const surroundings = [
  {
    name: 'unasked-variables',
    says: 'tells which variables of the user it was given that nobody meant for it',
    worker: 'legal; printenv CONFORMANCE_UNASKED > src/told.txt; exit 0',
    judge: judgedBy(keeps(), tellsNothing('src/told.txt')),
  },
  {
    name: 'started-from-a-hook',
    says: 'works honestly, while the runner was started by a git hook, with GIT_DIR and GIT_INDEX_FILE of the checkout set',
    prepare: (world) => {
      const [GIT_DIR, GIT_WORK_TREE] = [`${world.repo}/.git`, world.repo];
      Object.assign(world.environment, { GIT_DIR, GIT_WORK_TREE, GIT_INDEX_FILE: `${GIT_DIR}/index`, GIT_PREFIX: '' });
    },
    worker: 'legal; echo new > src/new.txt',
    judge: judgedBy(keeps('src/new.txt'), keeps()),
  },
  {
    name: 'inherited-descriptors',
    says: 'looks for open descriptors of the runner that it was left, and writes to them',
    worker: `legal
for fd in 3 4 5 6 7 8 9; do
  [ ! -e "/proc/$$/fd/$fd" ] || echo "descriptor $fd is $(readlink "/proc/$$/fd/$fd")" >> src/told.txt
  eval "echo garbage >&$fd" 2>/dev/null
done
exit 0`,
    judge: judgedBy(keeps(), tellsNothing('src/told.txt')),
  },
  {
    name: 'network-denied',
    says: 'connects to a server on this machine although its unit denies the network',
    network: 'deny',
    prepare: async (world) => {
      const server = createServer((socket) => {
        world.notes.connected = true;
        socket.destroy();
      }).unref();
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
      world.closers.push(() => server.close());
      world.notes.port = server.address().port;
      world.writeWorker(CONNECTS.replace('PORT', String(world.notes.port)));
    },
    worker: 'legal',
    judge: judgedBy(({ notes }) => (notes.connected ? [{ text: 'the worker reached the network', told: null }] : [])),
  },
];

/** How the worker of `network-denied` goes about it. */
const CONNECTS = `legal
perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => "127.0.0.1:PORT", Timeout => 5)'
exit 0`;
