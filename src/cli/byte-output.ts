/** Standard output for answers of any length: as fast as the reader takes them, and no further than there is one. */
export interface ByteOutput {
  /** False when nobody reads any more: a pager that was left, `| head`. */
  write(bytes: string | Uint8Array): Promise<boolean>;
}

/** This process's own. What else goes wrong with it is said by node-io. */
export const standardOutput: ByteOutput = {
  write: (bytes) => new Promise((resolve) => process.stdout.write(bytes, (error) => resolve(error == null))),
};
