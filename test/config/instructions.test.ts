/** What of a role's instructions reaches the worker. */
import { expect, test } from 'vitest';
import { readInstructions, withoutFrontmatter } from '../../src/config/instructions.ts';

test.each([
  ['---\na: b\n---\n\nBody\n', 'Body\n'],
  ['\ufeff---\r\na: b\r\n---\r\nBody', 'Body'],
  ['---\na: b\n...\nBody', 'Body'],
  ['---\n---\nBody', 'Body'],
  ['---\na: b\n---', ''],
  ['---\na: b\nBody', '---\na: b\nBody'],
  ['# Title\n---\nx\n---\n', '# Title\n---\nx\n---\n'],
  ['----\na\n----\n', '----\na\n----\n'],
  ['', ''],
])('frontmatter of %j', (text, expected) => {
  expect(withoutFrontmatter(text)).toBe(expected);
});

test.each([
  ['text between two thematic breaks', '---\n\nFind it.\n\n---\nMore.\n'],
  ['a list between them', '---\n- one\n- two\n---\nMore.\n'],
  ['a heading between them', '---\n# Repair\n---\nMore.\n'],
  ['a break further down', 'Find it.\n\n---\nname: x\n---\n'],
])('%s is no frontmatter, and is not lost', (_, text) => {
  expect(withoutFrontmatter(text)).toBe(text);
});

test.each([
  ['YAML that is none, as people write it', '---\nname: x\ndescription: use this: when it fails\n---\nFind it.'],
  ['a mapping behind comments', '---\n# who\n\n# what\nname: x\n---\nFind it.'],
  ['a mapping with its first key in quotes', '---\n"name": x\n---\nFind it.'],
  ['a flow mapping', '---\n{name: x}\n---\nFind it.'],
])('%s is frontmatter', (_, text) => {
  expect(withoutFrontmatter(text)).toBe('Find it.');
});

test.each([
  ['bytes that are not UTF-8', Buffer.from([0x61, 0xff]), 'is not UTF-8 text'],
  ['binary', Buffer.from('a\0b'), 'is binary, not Markdown'],
  ['nothing', Buffer.from(' \n'), 'says nothing (frontmatter does not count)'],
  ['frontmatter alone', Buffer.from('---\nname: x\n---\n'), 'says nothing (frontmatter does not count)'],
])('%s is refused', (_, bytes, error) => {
  expect(readInstructions(bytes)).toEqual({ ok: false, error });
});
