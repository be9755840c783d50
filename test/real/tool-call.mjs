/**
 * Turns "write this file" or "run this" into a call of whatever tool a CLI offers: the tool is chosen by its name and
 * the arguments are built from its own JSON schema, so a CLI that renames a parameter is still served.
 */
import path from 'node:path';

/**
 * @typedef {{ name: string, schema: Record<string, any> | null, namespace?: string }} Tool `schema` null: a tool that takes free text
 * @typedef {{ name: string, args: Record<string, unknown>, namespace?: string }} ToolCall
 */

const SHELL_NAMES = /^(bash|shell|shell_command|exec_command|local_shell|execute|run_command|terminal)$/i;
const WRITE_NAMES = /^(write|write_file|create_file|writefile)$/i;
const PATH_KEYS = /^(file_?path|path|filename|file|target_file)$/i;
const CONTENT_KEYS = /^(content|contents|text|file_text|data)$/i;
const COMMAND_KEYS = /^(command|cmd|script)$/i;

/** Where the CLIs say which folder they work in. */
const CWD_PATTERNS = [
  /<cwd>([^<]+)<\/cwd>/,
  /(?:primary |current )?working directory(?: is)?:? *`?(\/[^\s`"\\<]+)/i,
  /"cwd": *"([^"]+)"/,
];

/**
 * @param {string} requestText the request's texts, unescaped
 * @returns {string | null} absolute
 */
export function workingFolder(requestText) {
  for (const pattern of CWD_PATTERNS) {
    const found = pattern.exec(requestText)?.[1]?.replace(/[.,;:]+$/, '');
    if (found?.startsWith('/')) return found;
  }
  return null;
}

const properties = (tool) => /** @type {Record<string, any>} */ (tool.schema?.properties ?? {});
const keyLike = (tool, pattern) => Object.keys(properties(tool)).find((key) => pattern.test(key));

/** A value for a required parameter that the call has no opinion on. */
function filler(schema) {
  if (schema?.enum?.length > 0) return schema.enum[0];
  if (schema?.default !== undefined) return schema.default;
  switch (Array.isArray(schema?.type) ? schema.type[0] : schema?.type) {
    case 'boolean':
      return false;
    case 'integer':
    case 'number':
      return schema.minimum ?? 0;
    case 'array':
      return [];
    case 'object':
      return {};
    default:
      return 'work';
  }
}

function complete(tool, args) {
  for (const key of tool.schema?.required ?? []) if (!(key in args)) args[key] = filler(properties(tool)[key]);
  return { name: tool.name, args, ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }) };
}

const quote = (word) => `'${word.replaceAll("'", "'\\''")}'`;

/**
 * @param {readonly Tool[]} tools
 * @param {string} command for `sh`
 * @returns {ToolCall | null} null where no tool of the request runs commands
 */
export function shellCall(tools, command) {
  const tool =
    tools.find((each) => SHELL_NAMES.test(each.name) && keyLike(each, COMMAND_KEYS)) ??
    tools.find((each) => keyLike(each, COMMAND_KEYS));
  const key = tool === undefined ? undefined : keyLike(tool, COMMAND_KEYS);
  if (tool === undefined || key === undefined) return null;
  const asList = properties(tool)[key]?.type === 'array';
  return complete(tool, {
    [key]: asList ? ['sh', '-c', command] : command,
    // codex goes on without a command that takes longer than this; it is to wait.
    ...('yield_time_ms' in properties(tool) ? { yield_time_ms: 30_000 } : {}),
  });
}

/**
 * @param {readonly Tool[]} tools
 * @param {{ path: string, content: string }} file
 * @param {string | null} cwd
 * @returns {ToolCall | null} null where the request offers neither a write tool nor a shell
 */
export function writeCall(tools, file, cwd) {
  const tool = tools.find(
    (each) => WRITE_NAMES.test(each.name) && keyLike(each, PATH_KEYS) && keyLike(each, CONTENT_KEYS),
  );
  if (tool === undefined) {
    const folder = quote(path.posix.dirname(file.path));
    return shellCall(tools, `mkdir -p ${folder} && printf %s ${quote(file.content)} > ${quote(file.path)}`);
  }
  const target = cwd === null ? file.path : path.posix.resolve(cwd, file.path);
  return complete(tool, {
    [/** @type {string} */ (keyLike(tool, PATH_KEYS))]: target,
    [/** @type {string} */ (keyLike(tool, CONTENT_KEYS))]: file.content,
  });
}
