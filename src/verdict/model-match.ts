/** Does the model that a worker reports contradict the one it was asked to use? */

const plain = (model: string): string => model.toLowerCase().replace(/[^a-z0-9]/g, '');

/**
 * CLIs report a label (`Gemini 4 Argon (High)`), a dated slug (`claude-sonnet-5-20260801`) or a slug without its provider
 * (`deepseek-v4` for `deepseek/deepseek-v4`), so only names of which neither holds the other contradict.
 */
export function contradicts(requested: string, reported: string): boolean {
  const bare = requested.slice(requested.lastIndexOf('/') + 1);
  const wanted = plain(bare);
  const said = plain(reported.slice(reported.lastIndexOf('/') + 1));
  if (wanted === '' || said === '') return false;
  return !said.includes(wanted) && !wanted.includes(said);
}
