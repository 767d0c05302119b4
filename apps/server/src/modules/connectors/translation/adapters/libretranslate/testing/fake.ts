import { shout, type Fake, type Verdict } from '#modules/connectors/translation/adapters/testing/provider';

const key = 'canary-9c2f6b1e';
const languages = new Set(['en', 'es', 'de', 'pt-BR', 'ar']);

/** LibreTranslate's API documentation, and what its server does with entities. */
export const libretranslateFake: Fake = {
  adapter: 'libretranslate',
  basePath: '/translator',
  config: {},
  credentials: { api_key: key },
  wrongCredentials: { api_key: 'canary-of-another-account' },
  quotaExceeded: { status: 429, body: { error: 'Slowdown: canary 20 per 1 minute' } },
  respond({ method, url, headers, body }): Verdict {
    if (method === 'GET' && url.pathname === '/translator/languages') return { status: 200, body: [] };
    if (method !== 'POST' || url.pathname !== '/translator/translate') return refuse(404, 'Not Found');
    if (headers['content-type'] !== 'application/json') return refuse(400, 'Invalid JSON format');
    return judgeTexts(JSON.parse(body) as Record<string, any>);
  },
  answer: (texts) => ({ translatedText: texts }),
};

function judgeTexts({ q, source, target, format, api_key: sent, ...rest }: Record<string, any>): Verdict {
  if (sent !== key) return refuse(403, 'Invalid API key canary');
  if (Object.keys(rest).length > 0 || !Array.isArray(q)) return refuse(400, 'Invalid request');
  if (!languages.has(source) || !languages.has(target)) return refuse(400, 'is not supported');
  const texts = q as string[];
  if (texts.join('').length > 2000) return refuse(400, 'Invalid request: request exceeds text limit (2000)');
  if (format === 'text') return { texts: texts.map((text) => unescape(text.toUpperCase())) };
  if (format === 'html') return { texts: texts.map((text) => unescape(shout(reprint(text)))) };
  return refuse(400, 'format is not supported');
}

/** It prints its tree of tags in its own way. */
function reprint(html: string): string {
  return html.replaceAll(/<(\w+)([^<>]*)\/>/g, '<$1$2></$1>');
}

function unescape(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

function refuse(status: number, error: string): Verdict {
  return { status, body: { error } };
}
