/** Entry: wires the program to this process. */
import { nodeIo } from './cli/node-io.ts';
import { main } from './cli/program.ts';

// The owner's own bits must stay usable whatever the umask (0277 makes read-only folders); the others stay as restrictive.
process.umask(process.umask() & 0o077);
await main(process.argv.slice(2), nodeIo());
