/** A packet with nothing wrong in it, and what else the tests of packets share. */
export const LIMITS = { timeoutSeconds: 1800 };

export const GOOD = {
  unit_id: 'fix-parser',
  goal: 'The parser accepts empty input.',
  allowed_paths: ['src/parser.ts', 'test/'],
  verification: [['npm', 'test']],
  constraints: ['No new dependency.'],
  network: 'deny',
  external_cost: 'none',
  timeout_seconds: 600,
};

export const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};
