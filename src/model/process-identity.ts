/**
 * Who a process is, beyond a number that is used again. Records carry it so that a later command can tell a live
 * controller, worker or lock holder from a dead one whose pid was handed out again.
 */
import * as z from 'zod';

export const processIdentity = z.strictObject({
  pid: z.int().min(1),
  /** Clock ticks since boot on Linux, milliseconds since the epoch on macOS. */
  started: z.number().min(0),
  boot_id: z.string(),
  /** Where the pid counts: host name and, on Linux, PID namespace. */
  scope: z.string(),
});
export type ProcessIdentity = z.infer<typeof processIdentity>;
