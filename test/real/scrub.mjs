/** Makes a captured stream small and free of places, identities and times, so that it can be kept as a fixture. */

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;
const LONG_TEXT = 400;
const LONG_LIST = 4;
/** Keys whose values are identities or the machine's own; the shape of the value is kept. */
const IDENTITY = /^(uuid|session_?id|thread_id|message_?id|part_?id|request_?id|snapshot|sha|hash)$/i;
const TIMES =
  /^(timestamp|time|start|end|created|created_at|create_time|duration_ms|duration_api_ms|ttft_.*|time_to_.*)$/i;

/**
 * @param {string} text one stream of one attempt, JSON Lines or plain
 * @param {readonly (readonly [string, string])[]} places absolute paths and addresses with what stands for them, longest first
 */
export function scrub(text, places) {
  return text
    .split('\n')
    .map((line) => {
      let clean = line;
      for (const [from, to] of places) {
        // claude names a folder by the workspace's path with dashes.
        clean = clean.replaceAll(from, to).replaceAll(from.replaceAll('/', '-'), to.replaceAll('/', '-'));
      }
      clean = clean
        .replaceAll(/127\.0\.0\.1:\d+\/s\/[^/"\s]+\/[^/"\s]+/g, '127.0.0.1:9')
        .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:9')
        .replaceAll(UUID, '00000000-0000-4000-8000-000000000000')
        // opencode's log lines.
        .replaceAll(/\btimestamp=\S+/g, 'timestamp=2026-01-01T00:00:00.000Z')
        .replaceAll(/\b(run=|session\.id=ses_)\w+/g, (_, name) => `${name}00000000`);
      try {
        return JSON.stringify(shorten('', JSON.parse(clean)));
      } catch {
        // Not JSON: a banner or plain text stays a line of its own.
        return clean.slice(0, LONG_TEXT);
      }
    })
    .join('\n');
}

function shorten(key, value) {
  if (typeof value === 'number') return TIMES.test(key) ? Math.min(value, 1) : value;
  if (typeof value === 'string') {
    if (IDENTITY.test(key)) return value.replaceAll(/[0-9a-z]{8,}/gi, (run) => '0'.repeat(Math.min(run.length, 12)));
    if (TIMES.test(key) && /^\d{4}-\d\d-/.test(value)) return '2026-01-01T00:00:00.000Z';
    return value.length > LONG_TEXT ? `${value.slice(0, LONG_TEXT)}…` : value;
  }
  if (Array.isArray(value)) {
    const kept = value.every((item) => typeof item === 'string') ? value.slice(0, LONG_LIST) : value;
    return kept.map((item) => shorten(key, item));
  }
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shorten(name, inner)]));
}
