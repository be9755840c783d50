/**
 * Bundles src/main.ts with all dependencies into the one executable agent-exec.mjs, source map beside it. Usage:
 * node scripts/build.mjs [FOLDER], by default dist; the folder is replaced.
 */
import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { build } from 'esbuild';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const root = new URL('..', import.meta.url).pathname;
const folder = resolve(process.argv[2] ?? `${root}dist`);

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
await build({
  absWorkingDir: root,
  entryPoints: ['src/main.ts'],
  outfile: `${folder}/agent-exec.mjs`,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  sourcemap: 'linked',
  sourcesContent: false,
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'linked',
  define: { 'process.env.AGENT_EXEC_VERSION': JSON.stringify(version) },
  banner: {
    js: "#!/usr/bin/env node\nimport { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
  },
  logLevel: 'warning',
});
chmodSync(`${folder}/agent-exec.mjs`, 0o755);
