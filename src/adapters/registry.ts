/** The built-in adapters. A further one is a file beside this and a line here. */
import type { Adapter } from '../model/adapter.ts';
import { BUILT_IN_ADAPTERS, type BuiltInAdapter } from '../model/config.ts';
import { antigravity } from './antigravity.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { cursor } from './cursor.ts';
import { kimi } from './kimi.ts';
import { opencode } from './opencode.ts';
import { pi } from './pi.ts';

const BUILT_IN: Readonly<Record<BuiltInAdapter, Adapter>> = { cursor, antigravity, claude, codex, pi, kimi, opencode };

const isBuiltIn = (name: string): name is BuiltInAdapter => Object.hasOwn(BUILT_IN, name);

/** The built-in adapter of that name, or null. */
export const builtInAdapter = (name: string): Adapter | null => (isBuiltIn(name) ? BUILT_IN[name] : null);

/** All of them, in the order of their names in the configuration's documentation. */
export const builtInAdapters: readonly Adapter[] = BUILT_IN_ADAPTERS.map((name) => BUILT_IN[name]);
