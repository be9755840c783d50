/**
 * How each CLI is pointed at the scripted provider, and nothing else: files in its HOME, variables, and what its profile
 * says. No account is needed; the keys are made up.
 */

export const KEY = 'loopback-only';
const MODEL = 'scripted-model';

/**
 * @typedef {object} Pointing
 * @property {'auto' | string} model the profile's model
 * @property {string} [strangersModel] the same for a user who never logged in, where the model of a provider of one's own
 *   would not do
 * @property {'metered' | 'subscription'} cost `metered` where the made-up key goes by an API-key variable
 * @property {readonly string[]} home what the CLI may leave in HOME, folders and files at its top
 * @property {(target: Target) => Record<string, string>} env
 * @property {(target: Target) => Record<string, string>} files by path below HOME
 *
 * @typedef {{ base: string, key: string | null }} Target `base`: the provider's address without `/v1`; `key` null: the user
 *   never logged in
 */

const json = (value) => `${JSON.stringify(value, null, 2)}\n`;
/** Leaves out what is null: a variable or a field of a user without a key. */
const given = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** @type {Readonly<Record<string, Pointing>>} by adapter */
export const POINTING = {
  claude: {
    model: 'auto',
    cost: 'metered',
    home: ['.claude', '.claude.json', '.claude.json.backup', '.cache', '.local'],
    env: ({ base, key }) => given({ ANTHROPIC_BASE_URL: base, ANTHROPIC_API_KEY: key }),
    files: () => ({}),
  },
  codex: {
    model: 'auto',
    cost: 'metered',
    home: ['.codex'],
    env: ({ key }) => given({ CODEX_API_KEY: key }),
    files: ({ base }) => ({ '.codex/config.toml': `openai_base_url = "${base}/v1"\nmodel = "${MODEL}"\n` }),
  },
  opencode: {
    model: `scripted/${MODEL}`,
    cost: 'subscription',
    // .npm: it fetches a plugin of its own in the background.
    home: ['.config', '.local', '.cache', '.npm'],
    env: () => ({}),
    files: ({ base, key }) => ({
      '.config/opencode/opencode.json': json({
        provider: {
          scripted: {
            npm: '@ai-sdk/openai-compatible',
            options: given({ baseURL: `${base}/v1`, apiKey: key }),
            models: { [MODEL]: {} },
          },
        },
        model: `scripted/${MODEL}`,
        small_model: `scripted/${MODEL}`,
      }),
    }),
  },
  pi: {
    model: `scripted/${MODEL}`,
    strangersModel: 'anthropic/claude-sonnet-4-5',
    cost: 'subscription',
    home: ['.pi'],
    env: () => ({}),
    // A provider of one's own must name a key, and 0.7x sends the name of an unset variable as one.
    files: ({ base, key }) =>
      key === null
        ? {}
        : {
            '.pi/agent/models.json': json({
              providers: {
                scripted: {
                  baseUrl: `${base}/v1`,
                  api: 'openai-completions',
                  apiKey: key,
                  models: [{ id: MODEL, contextWindow: 128_000, maxTokens: 8_000 }],
                },
              },
            }),
          },
  },
  kimi: {
    model: 'auto',
    cost: 'metered',
    home: ['.kimi-code'],
    env: ({ base, key }) =>
      key === null
        ? {}
        : {
            KIMI_MODEL_NAME: MODEL,
            KIMI_MODEL_API_KEY: key,
            KIMI_MODEL_BASE_URL: `${base}/v1`,
            KIMI_MODEL_PROVIDER_TYPE: 'openai',
          },
    files: () => ({}),
  },
};
