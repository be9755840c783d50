/** Entry: wires the program to this process. */
import { setFlagsFromString } from 'node:v8';
import { nodeIo } from './cli/node-io.ts';
import { main } from './cli/program.ts';

// In a flood of long lines the young generation would grow to keep what is thrown away at once (bench/flood.mjs).
setFlagsFromString('--semi-space-growth-factor=1');
// The owner's own bits must stay usable whatever the umask (0277 makes read-only folders); the others stay as restrictive.
process.umask(process.umask() & 0o077);
// As a shell does: without one, git would be found where it usually is, and bwrap and the workers' programs would not.
process.env.PATH ??= '/usr/local/bin:/usr/bin:/bin';
await main(process.argv.slice(2), nodeIo());
