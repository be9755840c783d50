/** Does the model that a worker reports contradict the one it was asked to use? */

/**
 * Words that tell a model from its smaller or larger siblings; a name with one more of them is another model. Words for
 * speed (fast, turbo) are none: providers answer `grok-code` as `grok-code-fast-1`.
 */
const SIBLINGS = /^(?:nano|micro|mini|small|lite|flash|haiku|sonnet|opus|plus|pro|ultra|large)$/;

const plain = (model: string): string => model.toLowerCase().replace(/[^a-z0-9]/g, '');

const words = (model: string): Set<string> => new Set(model.toLowerCase().match(/[a-z0-9.]+/g));
const holds = (all: Set<string>, some: Set<string>): boolean => [...some].every((word) => all.has(word));
const siblings = (model: Set<string>): string =>
  [...model]
    .filter((word) => SIBLINGS.test(word))
    .sort()
    .join(' ');

/**
 * CLIs report a label (`Gemini 4 Argon (High)`), one with its words in another order (`Claude 4.6 Opus (Thinking)` for
 * `opus-4.6-thinking`), a dated slug (`claude-sonnet-5-20260801`) or a slug without its provider (`deepseek-v4` for
 * `deepseek/deepseek-v4`), so only names of which neither holds the other contradict, and those of siblings.
 */
export function contradicts(requested: string, reported: string): boolean {
  const [wanted, said] = [requested, reported].map((name) => name.slice(name.lastIndexOf('/') + 1)) as [string, string];
  if (plain(wanted) === '' || plain(said) === '') return false;
  if (siblings(words(wanted)) !== siblings(words(said))) return true;
  if (plain(said).includes(plain(wanted)) || plain(wanted).includes(plain(said))) return false;
  return !holds(words(said), words(wanted)) && !holds(words(wanted), words(said));
}
