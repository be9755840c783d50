/** What a worker is told where its role asks for a result (SPEC 9), in the words of the contract that will judge it. */
const CONTRACTS: Readonly<Record<string, string>> = {
  'repair-result/v1': `End with a last message that holds exactly one JSON object with these keys and no others:
- "STATUS": "READY" when the work is done, "BLOCKED" when it cannot be done within the limits.
- "ROOT_CAUSE": text that starts with CONFIRMED, LIKELY or SPECULATIVE.
- "CHANGES": a list of what you changed, each entry beginning with the file's path; not empty for READY, may be empty for BLOCKED.
- "VERIFICATION_EVIDENCE": a list of what you ran or read to verify it, and what it showed; not empty for READY.
- "ROLLBACK": how to undo the changes; required when CHANGES is not empty.
- "RESIDUAL_RISK": what may still be wrong; never empty.`,
};

/** The contract's words; null where the role asks for nothing. The policy has already been found valid. */
export function resultContract(name: string | null): string | null {
  if (name === null) return null;
  const words = CONTRACTS[name];
  if (words === undefined) throw new Error(`no result contract ${name}`);
  return words;
}
