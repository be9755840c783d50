/** Entry: wires the program to this process. */
import { nodeIo } from './cli/node-io.ts';
import { main } from './cli/program.ts';

// The owner's own bits must stay usable whatever the umask (0277 makes read-only folders); the others stay as restrictive.
process.umask(process.umask() & 0o077);
// As a shell does: without one, git would be found where it usually is, and bwrap and the workers' programs would not.
process.env.PATH ??= '/usr/local/bin:/usr/bin:/bin';
await main(process.argv.slice(2), nodeIo());
