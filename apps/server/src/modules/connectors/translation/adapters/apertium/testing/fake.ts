import { shout, type Fake, type Verdict } from '#modules/connectors/translation/adapters/testing/provider';

const pairs = new Set(['eng|spa', 'spa|eng', 'eng|por_BR', 'eng|deu']);

/** apertium-apy's documentation, and how it treats long texts and its own marks. */
export const apertiumFake: Fake = {
  adapter: 'apertium',
  basePath: '/apy',
  config: { language_map: { pt: 'por_BR' } },
  credentials: { api_key: 'canary-key' },
  wrongCredentials: { api_key: 'canary-of-another-account' },
  quotaExceeded: { status: 403, body: { status: 'error', code: 403, message: 'Forbidden', explanation: 'canary' } },
  respond({ method, url, headers, body }): Verdict {
    if (method === 'GET' && url.pathname === '/apy/listPairs') return { status: 200, body: { responseData: [] } };
    if (method !== 'POST' || url.pathname !== '/apy/translate') return refuse(404, 'Resource requested does not exist');
    if (headers['content-type'] !== 'application/x-www-form-urlencoded')
      return refuse(400, 'Missing argument langpair');
    const form = new URLSearchParams(body);
    if (form.get('key') !== 'canary-key') return refuse(403, 'canary: unknown key');
    if (!pairs.has(form.get('langpair')!)) return refuse(400, 'That pair is not installed');
    const isHtml = form.get('format') === 'html';
    if (!isHtml && form.get('format') !== 'txt') return refuse(400, 'unknown format');
    return { texts: [translate(form.get('q')!, isHtml)] };
  },
  answer: ([text]) => ({ responseData: { translatedText: text }, responseDetails: null, responseStatus: 200 }),
};

/** Cuts long texts at any character, and removes all stars before unknown words. */
function translate(text: string, isHtml: boolean): string {
  const parts = Array.from({ length: Math.min(10, Math.ceil(text.length / 1000)) }, (_, index) =>
    text.slice(index * 1000, (index + 1) * 1000),
  );
  return parts
    .map((part) => (isHtml ? shout(part) : part.toUpperCase()))
    .join('')
    .replaceAll(/\*([^.,;:\t* ]+)/g, '$1')
    .replaceAll('UNKNOWN', '#UNKNOWN');
}

function refuse(status: number, explanation: string): Verdict {
  return { status, body: { status: 'error', code: status, message: 'Error', explanation } };
}
