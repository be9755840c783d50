/** Characters that make text read differently from what it is. */

/** Reorders the text around it: never legitimate in configuration, comments included. */
export const BIDIRECTIONAL = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** Not seen, or taken for a plain space: format characters, fillers, variation selectors, every space but U+0020. */
export const INVISIBLE = /[\p{Cf}\p{DI}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** Controls but the tab (which has a rule of its own), and halves of surrogate pairs. */
export const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\p{Cs}]/u;

/** `U+202E`: how a message names what cannot be seen. */
export const codePoint = (char: string): string =>
  `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
