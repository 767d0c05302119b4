import { type Fake, type Verdict } from '#modules/connectors/translation/adapters/testing/provider';

const key = 'sk-canary0123456789';

/** OpenAI's API reference, "Create chat completion" and "Error codes". */
export const openaiFake: Fake = {
  adapter: 'openai',
  basePath: '/v1',
  config: { model: 'canary-mini', temperature: 0 },
  credentials: { api_key: key },
  wrongCredentials: { api_key: 'sk-canary of another account' },
  quotaExceeded: {
    status: 429,
    body: {
      error: {
        message: 'You exceeded your current quota, canary.',
        type: 'insufficient_quota',
        code: 'insufficient_quota',
      },
    },
  },
  respond({ method, url, headers, body }): Verdict {
    if (headers.authorization !== `Bearer ${key}`)
      return refuse(401, 'invalid_api_key', 'Incorrect API key provided: canary');
    if (method === 'GET' && url.pathname === '/v1/models') return { status: 200, body: { object: 'list', data: [] } };
    if (method !== 'POST' || url.pathname !== '/v1/chat/completions')
      return refuse(404, 'unknown_url', 'Unknown request URL');
    if (headers['content-type'] !== 'application/json') return refuse(415, 'unsupported', 'Unsupported content type');
    return judgeChat(JSON.parse(body) as Record<string, any>);
  },
  answer: (texts) => ({
    id: 'chatcmpl-canary',
    object: 'chat.completion',
    created: 1_741_569_952,
    model: 'canary-mini-2026',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: JSON.stringify({ translations: texts }), refusal: null },
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
  }),
};

function judgeChat({ model, messages, temperature = 1, ...rest }: Record<string, any>): Verdict {
  const isKnown = Object.keys(rest).every((name) => name === 'response_format');
  if (!isKnown || typeof model !== 'string' || !(temperature >= 0 && temperature <= 2))
    return refuse(400, 'invalid_request_error', 'Unrecognized request argument');
  const roles = (messages as { role: string; content: string }[]).map(({ role }) => role);
  if (roles.join() !== 'system,user') return refuse(400, 'invalid_request_error', 'Invalid messages');
  // A model that obeys its instructions and treats all texts as data.
  const { texts } = JSON.parse(messages[1].content as string) as { texts: string[] };
  return { texts: texts.map(shoutRaw) };
}

/** It reads no markup: entities are text like any other. */
function shoutRaw(text: string): string {
  return text.replaceAll(/<\/?[gx](?: id="\d+"\/?)?>|[^<]+|</g, (part) =>
    /^<\/?[gx]/.test(part) ? part : part.toUpperCase(),
  );
}

function refuse(status: number, code: string, message: string): Verdict {
  return { status, body: { error: { message, type: 'invalid_request_error', param: null, code } } };
}
