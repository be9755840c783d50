/**
 * A scripted model provider on loopback. `http://127.0.0.1:PORT/s/<scenario>/<tag>` is a base address for any CLI; the
 * scenario decides every answer, the tag only names the caller in the log. It speaks to nobody, keeps no conversation,
 * and ends by itself after its lifetime.
 */
import { appendFileSync } from 'node:fs';
import http from 'node:http';
import { pathToFileURL } from 'node:url';
import { PROTOCOLS } from './protocols/protocol.mjs';
import { SCENARIO_NAMES, stepOf } from './scenarios.mjs';
import { shellCall, workingFolder, writeCall } from './tool-call.mjs';

const BODY_LIMIT = 64 * 1024 * 1024;
const HANG_LIMIT_MS = 10 * 60_000;
const PAGE = '<!doctype html><html><title>Sign in</title><body>Please sign in to the network.</body></html>';

/**
 * @typedef {object} Provider
 * @property {number} port
 * @property {(scenario: string, tag: string) => string} base base address without a `/v1`
 * @property {(tag: string) => number} requests how many model requests carried this tag
 * @property {() => string[]} outside hosts that were asked for through it as a proxy
 * @property {string} proxy its address as a proxy
 * @property {() => Promise<void>} close
 */

/**
 * @param {{ logFile?: string, bodies?: boolean, lifetimeMs?: number }} [options] `bodies`: log whole requests, for debugging
 * @returns {Promise<Provider>}
 */
export async function startProvider({ logFile, bodies = false, lifetimeMs = 60 * 60_000 } = {}) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  /** @type {Set<string>} */
  const outside = new Set();
  const log = (entry) => {
    if (logFile !== undefined) appendFileSync(logFile, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
  };
  const server = http.createServer((request, response) => {
    serve(request, response, { counts, outside, log, bodies }).catch((error) => {
      log({ error: String(error) });
      response.destroy();
    });
  });
  server.requestTimeout = 60_000;
  // As HTTPS_PROXY it shows whom else a CLI wants to speak to, and refuses.
  server.on('connect', (request, socket) => {
    outside.add(String(request.url));
    log({ outside: request.url });
    socket.on('error', () => {});
    socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(undefined));
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const close = () =>
    new Promise((resolve) => {
      clearTimeout(end);
      server.close(() => resolve(undefined));
      server.closeAllConnections();
    });
  const end = setTimeout(close, lifetimeMs);
  end.unref();
  return {
    port,
    base: (scenario, tag) => `http://127.0.0.1:${port}/s/${scenario}/${tag}`,
    requests: (tag) => counts.get(tag) ?? 0,
    outside: () => [...outside].sort(),
    proxy: `http://127.0.0.1:${port}`,
    close,
  };
}

async function serve(request, response, { counts, outside, log, bodies }) {
  const { pathname, host } = new URL(request.url ?? '/', 'http://127.0.0.1');
  if (/^https?:/.test(request.url ?? '')) {
    outside.add(host);
    return json(response, 403, { error: { message: 'nothing but loopback' } });
  }
  const [, scenario = '', tag = '', rest = ''] = /^\/s\/([^/]+)\/([^/]+)(\/.*)?$/.exec(pathname) ?? [];
  const body = await readBody(request);
  const protocol = request.method === 'POST' ? PROTOCOLS.find((each) => each.path.test(rest)) : undefined;
  if (protocol === undefined) {
    log({ scenario, tag, method: request.method, path: pathname });
    return small(request, response, rest);
  }
  counts.set(tag, (counts.get(tag) ?? 0) + 1);
  const asked = protocol.read(JSON.parse(body));
  const step = stepOf(scenario, asked.toolResults);
  log({
    scenario,
    tag,
    path: rest,
    model: asked.model,
    tools: asked.tools.map((tool) => tool.name),
    toolResults: asked.toolResults,
    cwd: workingFolder(asked.text),
    step: step?.kind ?? null,
    ...(bodies ? { body: JSON.parse(body) } : {}),
  });
  if (step === null) return json(response, 404, { error: { message: `no scenario ${scenario}` } });
  switch (step.kind) {
    case 'refuse': {
      const refusal = protocol.refuse(step.as);
      if (refusal.events !== undefined && asked.streamed) return stream(response, refusal.events);
      return json(response, refusal.status, refusal.body, step.headers);
    }
    case 'html':
      response.writeHead(200, { 'content-type': 'text/html' });
      return response.end(PAGE);
    case 'hang':
      response.writeHead(200, { 'content-type': asked.streamed ? 'text/event-stream' : 'application/json' });
      response.flushHeaders();
      setTimeout(() => response.destroy(), HANG_LIMIT_MS).unref();
      return undefined;
    case 'drop': {
      const { events } = protocol.answer(asked, { kind: 'text', text: 'Half of an' });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(events.slice(0, 2).join(''), () => response.destroy());
      return undefined;
    }
    default: {
      const { whole, events } = protocol.answer(asked, turnOf(step, asked));
      return asked.streamed ? stream(response, events) : json(response, 200, whole);
    }
  }
}

/** A side request offers no tools: it is a title or a summary, and gets words. */
function turnOf(step, asked) {
  if (step.kind === 'text') return step;
  const file = step.kind === 'obey' ? fileAskedFor(asked.text) : step;
  const call =
    step.kind === 'shell'
      ? shellCall(asked.tools, step.command)
      : writeCall(asked.tools, file, workingFolder(asked.text));
  if (call === null) return { kind: 'text', text: asked.tools.length === 0 ? 'A title' : 'No tool can do this.' };
  return { kind: 'call', id: `call_${asked.toolResults + 1}`, call };
}

/** What a live probe wants, by the command that its prompt names. A prompt of another kind gets another file. */
function fileAskedFor(text) {
  const [, line = 'nothing was asked for', file = 'notes/worker.md'] =
    /^printf '%s\\n' '([^'\n]+)' > (\S+)$/m.exec(text) ?? [];
  return { path: file, content: `${line}\n` };
}

/** What CLIs ask beside the model: a ping, a token count, a list of models. */
function small(request, response, rest) {
  if (request.method === 'HEAD') return response.writeHead(200).end();
  // codex tries a WebSocket first; this status makes it go on over plain HTTP at once instead of retrying.
  if (request.headers.upgrade !== undefined) return json(response, 426, { error: { message: 'no WebSocket here' } });
  if (/\/count_tokens$/.test(rest)) return json(response, 200, { input_tokens: 120 });
  if (/\/models$/.test(rest)) return json(response, 200, { object: 'list', data: [], models: [] });
  return json(response, 404, { error: { message: 'not part of this provider', type: 'not_found_error' } });
}

function json(response, status, body, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function stream(response, events) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.end(events.join(''));
}

async function readBody(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > BODY_LIMIT) throw new Error('request body over the limit');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const provider = await startProvider({ ...(process.argv[2] ? { logFile: process.argv[2], bodies: true } : {}) });
  process.stdout.write(`http://127.0.0.1:${provider.port}/s/<scenario>/<tag>   ${SCENARIO_NAMES.join(' ')}\n`);
}
