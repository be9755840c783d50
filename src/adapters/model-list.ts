/** A CLI's own list of models, in each of the forms it was printed in, and what of it a family and an effort name. */
import type { ListedModel, ProbeOutput } from '../model/adapter.ts';
import { listOf, objectOf, parseLine, stringOf } from './json-lines.ts';

const SLUG = /^[A-Za-z0-9][\w.:/@[\]-]*$/;

function fromJson(stdout: string): readonly ListedModel[] | null {
  // The list may be printed over several lines; as one line it is still the same JSON.
  const models = listOf(objectOf(objectOf(objectOf(parseLine(stdout.trim())).command).data).models)
    .map(objectOf)
    .flatMap((model) => {
      const slug = stringOf(model.id);
      // A flag's value that begins like a flag would be one.
      return slug === null || !SLUG.test(slug) ? [] : [{ slug, label: stringOf(model.label) ?? slug }];
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

/** The words of a name, between blanks, brackets and what joins them in a slug; every other character counts. */
const words = (text: string): string =>
  text
    .normalize('NFC')
    .toLowerCase()
    .split(/[\s()[\],/_-]+/)
    .filter((word) => word !== '')
    .join(' ');

/**
 * The slugs of the models of which the label (`Gemini 4 Argon (High)`) or the slug (`gemini-4-argon-high`) is exactly
 * the family's name and then the effort's. None or several: nobody can say which is meant.
 */
export function slugsFor(models: readonly ListedModel[], family: string, effort: string): readonly string[] {
  const wanted = `${words(family)} ${words(effort)}`;
  const fits = models.filter(({ slug, label }) => words(label) === wanted || words(slug) === wanted);
  return [...new Set(fits.map(({ slug }) => slug))];
}
