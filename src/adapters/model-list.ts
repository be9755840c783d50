/** A CLI's own list of models, in each of the forms it was printed in. */
import type { ListedModel, ProbeOutput } from '../model/adapter.ts';
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
