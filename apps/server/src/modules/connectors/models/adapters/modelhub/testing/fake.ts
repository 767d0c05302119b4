import type { Model } from '#modules/connectors/models/adapter';
import type { ModelsFake } from '#modules/connectors/models/adapters/testing/fake';

type Entry = Record<string, unknown> & { architecture: { output_modalities: string[] } };

/** Lists models like https://openrouter.ai/api/v1/models, including properties that the adapter ignores. */
const entries: readonly Entry[] = [
  {
    id: 'acme/writer-2',
    canonical_slug: 'acme/writer-2-20260101',
    hugging_face_id: '',
    name: 'Acme: Writer 2',
    created: 1_767_225_600,
    description: 'Writes.\nÄ € 👩‍👩‍👧',
    context_length: 131_072,
    architecture: {
      modality: 'text+image->text',
      input_modalities: ['text', 'image'],
      output_modalities: ['text'],
      tokenizer: 'GPT',
      instruct_type: null,
    } as Entry['architecture'],
    pricing: {
      prompt: '0.00000015',
      completion: '0.00000060',
      request: '0',
      image: '0.000217',
      web_search: '0.01',
      internal_reasoning: '0',
    },
    top_provider: { context_length: 131_072, max_completion_tokens: 16_384, is_moderated: true },
    per_request_limits: null,
    supported_parameters: ['max_tokens', 'tools'],
    expiration_date: null,
  },
  {
    id: 'acme/painter:free',
    name: 'Acme: Painter (free)',
    description: 'Paints and writes.',
    context_length: 32_768,
    architecture: { modality: 'text->text+image', output_modalities: ['image', 'text'] } as Entry['architecture'],
    pricing: { prompt: '0', completion: '0', request: '0', image: '0' },
    expiration_date: '2026-12-31',
  },
  {
    id: 'router/auto',
    name: 'Router: Auto',
    description: '',
    context_length: 2_000_000,
    architecture: { modality: 'text->text', output_modalities: ['text'] } as Entry['architecture'],
    pricing: { prompt: '-1', completion: '-1' },
  },
];

const writer: Model = {
  id: 'acme/writer-2',
  name: 'Acme: Writer 2',
  description: 'Writes.\nÄ € 👩‍👩‍👧',
  contextLength: 131_072,
  promptPrice: '0.00000015',
  completionPrice: '0.00000060',
  imagePrice: '0.000217',
  requestPrice: '0',
  expiresAt: null,
};
const painter: Model = {
  id: 'acme/painter:free',
  name: 'Acme: Painter (free)',
  description: 'Paints and writes.',
  contextLength: 32_768,
  promptPrice: '0',
  completionPrice: '0',
  imagePrice: '0',
  requestPrice: '0',
  expiresAt: '2026-12-31T00:00:00.000Z',
};
const router: Model = {
  id: 'router/auto',
  name: 'Router: Auto',
  description: '',
  contextLength: 2_000_000,
  promptPrice: null,
  completionPrice: null,
  imagePrice: null,
  requestPrice: null,
  expiresAt: null,
};

/** OpenRouter, which lists models that write unless it is asked for others. */
export const modelhubFake: ModelsFake = {
  adapter: 'modelhub',
  basePath: '/api/v1/?key=1',
  credentials: { token: 'hub canary token' },
  wrongCredentials: { token: 'canary of another' },
  lists: { text: [writer, painter, router], image: [painter] },
  respond({ method, url, headers }) {
    if (method !== 'GET' || url.pathname !== '/api/v1/models' || url.searchParams.get('key') !== '1')
      return { status: 404, body: { error: { code: 404, message: 'Not Found' } } };
    if (headers.authorization !== 'Bearer hub canary token')
      return { status: 401, body: { error: { code: 401, message: 'No auth credentials found' } } };
    const wanted = (url.searchParams.get('output_modalities') ?? 'text').split(',');
    const data = entries.filter(({ architecture }) =>
      architecture.output_modalities.some((modality) => wanted.includes(modality)),
    );
    return { status: 200, body: { data } };
  },
};
