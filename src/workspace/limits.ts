/** How much of a workspace is looked at before saying that it is too much. */
export interface InventoryLimits {
  /** A larger changed file is carried by no commit. */
  readonly fileBytes: number;
  /** Of all changed files together. */
  readonly hashedBytes: number;
  /** Files, folders and everything else. */
  readonly entries: number;
}

export const INVENTORY_LIMITS: InventoryLimits = {
  fileBytes: 100 * 1024 * 1024,
  /** Sparse files just under the size above would keep a host reading zeros for days. */
  hashedBytes: 8 * 1024 ** 3,
  /** Each costs a few hundred bytes of memory. */
  entries: 2_000_000,
};
