import { unusable } from '#modules/connectors/calls/failures';
import type { Model, ModelsAdapter, ModelTask } from '#modules/connectors/models/adapter';
import { toPrice } from '#modules/connectors/models/prices.rules';
import { below, firstProblem, headerText, type Fields } from '#modules/connectors/provider';

const maxModels = 5000;
const maxDescriptionLength = 10_000;
/** Limit for all descriptions together; later models get none. */
const maxDescriptionsLength = 1_048_576;
const numericPrice =
  /"(prompt|completion|image|request)"(\s*:\s*)(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?=\s*[,}])/g;
// PostgreSQL does not store NUL, and other control characters are not printable.
const controls = /[\p{Cc}--[\n\t]]/gv;

/**
 * The model list of OpenRouter and compatible services: `{base URL}/models`. `auth_config.token`, sent as bearer
 * token, is optional.
 */
export const modelhub: ModelsAdapter = {
  problem: ({ credentials }) =>
    credentials?.['token'] === undefined ? undefined : firstProblem('auth_config', credentials, { token: headerText }),
  request({ baseUrl, credentials }, task) {
    const url = new URL(below(baseUrl, '/models'));
    url.searchParams.set('output_modalities', task);
    const token = credentials?.['token'] as string | undefined;
    return {
      url: url.href,
      headers: { accept: 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    };
  },
  read(body, task) {
    const entries = entriesOf(body);
    const found = new Map<string, Model>();
    let others = 0;
    let room = maxDescriptionsLength;
    for (const entry of entries.slice(0, maxModels)) {
      const model = toModel(entry);
      if (model === undefined || found.has(model.id)) continue;
      if (!makes(entry as Fields, task)) {
        others += 1;
        continue;
      }
      room -= model.description?.length ?? 0;
      found.set(model.id, room < 0 ? { ...model, description: null } : model);
    }
    const fitting = found.size + others;
    if (fitting === 0 && entries.length > 0) throw unusable('no entry of the list is a model');
    return { models: [...found.values()], dropped: entries.length - fitting };
  },
};

function entriesOf(body: string): unknown[] {
  const answer = parse(body);
  const entries = isObject(answer) ? answer['data'] : undefined;
  if (!Array.isArray(entries)) throw unusable('the answer is not a list of models');
  return entries;
}

/**
 * Keeps numeric prices as written, because floating point would change them. They become strings before parsing: a reviver
 * takes 50 times as long as the parser.
 */
function parse(body: string): unknown {
  try {
    return JSON.parse(body.replaceAll(numericPrice, '"$1"$2"$3"'));
  } catch {
    throw unusable('the answer is not JSON');
  }
}

function toModel(entry: unknown): Model | undefined {
  if (!isObject(entry)) return undefined;
  const { id, name = id, description, context_length: length, pricing, expiration_date: expiration } = entry;
  if (!isId(id) || !isName(name)) return undefined;
  const prices = isObject(pricing) ? pricing : {};
  return {
    id,
    name: clean(name).trim() || id,
    description: typeof description === 'string' ? clean(description.slice(0, maxDescriptionLength)) : null,
    contextLength: Number.isSafeInteger(length) && (length as number) > 0 ? (length as number) : null,
    promptPrice: toPrice(prices['prompt']),
    completionPrice: toPrice(prices['completion']),
    imagePrice: toPrice(prices['image']),
    requestPrice: toPrice(prices['request']),
    expiresAt: toInstant(expiration),
  };
}

function makes({ architecture }: Fields, task: ModelTask): boolean {
  const { output_modalities: outputs, modality } = isObject(architecture) ? architecture : {};
  if (Array.isArray(outputs)) return outputs.includes(task);
  // Format `text+image->text`; a missing value means a language model.
  const [, made = 'text'] = typeof modality === 'string' ? modality.split('->') : [];
  return made.split('+').includes(task);
}

function toInstant(date: unknown): string | null {
  if (typeof date !== 'string' || !/^\d{4}-\d\d-\d\d/.test(date)) return null;
  const at = Date.parse(date);
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value);
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 500;
}

function clean(text: string): string {
  return text.replaceAll(controls, '').toWellFormed();
}
