/** Folders of ours are 0700 whatever the umask (0277 would make them unusable, 0 would open them to everyone). */
import { chmod, mkdir } from 'node:fs/promises';

/** Makes a folder that must not exist, inside a folder that nobody else can write. Rejects with the system's error. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  await chmod(path, 0o700);
}
