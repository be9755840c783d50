/** A CLI's own list of models, and which of them a `{family, effort}` means. */
import type { ListedModel, ProbeOutput, Unavailable } from '../model/adapter.ts';
import { err, ok, type Result } from '../model/result.ts';
import { listOf, objectOf, parseLine, stringOf } from './json-lines.ts';

const SLUG = /^[A-Za-z0-9][\w.:/@[\]-]*$/;

function fromJson(stdout: string): readonly ListedModel[] | null {
  // The list may be printed over several lines; as one line it is still the same JSON.
  const models = listOf(objectOf(objectOf(objectOf(parseLine(stdout.trim())).command).data).models)
    .map(objectOf)
    .flatMap((model) => {
      const slug = stringOf(model.id);
      return slug === null ? [] : [{ slug, label: stringOf(model.label) ?? slug }];
    });
  return models.length > 0 ? models : null;
}

function fromLines(stdout: string): readonly ListedModel[] | null {
  const lines = stdout
    .split(/\r?\n/)
    .map((line) => line.trimEnd())
    .filter((line) => line.trim() !== '');
  const pairs = lines.flatMap((line) => {
    const [slug = '', label = ''] = line.split('\t').map((cell) => cell.trim());
    return line.includes('\t') && SLUG.test(slug) ? [{ slug, label: label || slug }] : [];
  });
  if (pairs.length > 0) return pairs;
  // Bare slugs: one line of prose among them means that this is no list.
  const bare = lines.map((line) => line.trim());
  return bare.length > 0 && bare.every((line) => SLUG.test(line)) ? bare.map((slug) => ({ slug, label: slug })) : null;
}

/** Reads agy's list: JSON, else `id<TAB>label` lines, else bare slugs. Null where the output is no list. */
export const parseModelList = ({ stdout, code }: ProbeOutput): readonly ListedModel[] | null =>
  code === 0 ? (fromJson(stdout) ?? fromLines(stdout)) : null;

const words = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[\s_-]+/g, ' ')
    .trim();

/** Family and effort of a listed model: from `Gemini 4 Argon (High)`, else from a slug that ends in its effort. */
function split({ slug, label }: ListedModel): { readonly family: string; readonly effort: string } | null {
  const labelled = /^(.*\S)\s*\(([^()]+)\)$/.exec(label);
  if (labelled !== null) return { family: words(labelled[1] ?? ''), effort: words(labelled[2] ?? '') };
  const suffixed = /^(.+)-([A-Za-z]+)$/.exec(slug);
  return suffixed === null ? null : { family: words(suffixed[1] ?? ''), effort: words(suffixed[2] ?? '') };
}

/**
 * The slug of the one model of this family and effort. A family is its whole name, or words of it that fit only one family;
 * none or several are `UNRESOLVED_MODEL_SLUG`.
 */
export function resolveFamily(
  models: readonly ListedModel[],
  wanted: { readonly family: string; readonly effort: string },
): Result<string, Unavailable> {
  const family = words(wanted.family);
  const known = models.flatMap((model) => {
    const parts = split(model);
    return parts !== null && parts.effort === words(wanted.effort) ? [{ slug: model.slug, family: parts.family }] : [];
  });
  const exact = known.filter((model) => model.family === family);
  const fitting = exact.length > 0 ? exact : known.filter((model) => ` ${model.family} `.includes(` ${family} `));
  const slugs = [...new Set(fitting.map((model) => model.slug))];
  const [only] = slugs;
  if (only !== undefined && slugs.length === 1) return ok(only);
  const found = slugs.length === 0 ? 'no model' : `${slugs.length} models (${slugs.slice(0, 5).join(', ')})`;
  return err({
    code: 'UNRESOLVED_MODEL_SLUG',
    message: `${found} of the ${models.length} listed fit family ${JSON.stringify(wanted.family)} with effort ${JSON.stringify(wanted.effort)}. Name the slug itself under \`model\`.`,
  });
}
