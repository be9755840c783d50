/** Why a file that a person named cannot be read. */

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'you may not read it',
  EPERM: 'you may not read it',
  ELOOP: 'it is a link that leads nowhere (a loop)',
  ENAMETOOLONG: 'its name is too long',
  'not-regular': 'it is not a regular file',
};

/** `code`: the name of an errno, or what `readRegularFile` says; a code without words stands for itself. */
export const whyUnreadable = (code: string): string => WORDS[code] ?? code;
