import { adapters } from '#modules/connectors/models/adapters/adapters';
import { readModels } from '#modules/connectors/models/models.service';
import { measureStalls, type HostileCase, type Stall } from './stall.ts';

const mebibytes = 4;
const maxBytes = mebibytes * 2 ** 20;

const filled = (piece: string) => piece.repeat(Math.floor((maxBytes - 100) / piece.length));
const listOf = (piece: string) => `{"data":[${filled(piece).slice(0, -1)}]}`;
const model = JSON.stringify({
  id: 'acme/model-00000',
  name: 'A model',
  description: 'é'.repeat(200),
  pricing: { prompt: 0.5 },
});
let next = 10_000;

const answers: [string, string][] = [
  ['numbers', listOf('0,')],
  ['prices', listOf('{"prompt":1},')],
  ['empty objects', listOf('{},')],
  ['models', listOf(`${model},`).replaceAll('model-00000', () => `model-${next++}`)],
  ['nested lists', '['.repeat(maxBytes)],
  ['one text', `{"data":[{"id":"acme/a","description":"${filled('x')}"}]}`],
  ['escapes', `{"data":[{"id":"acme/a","description":"${filled('\\u0000')}"}]}`],
  ['spaces after the name of a price', `{"data":[{"prompt"${filled(' ')}}]}`],
  ['256 KiB of numbers, read on the event loop', `{"data":[${'0,'.repeat(131_000)}0]}`],
];

/** The worst lists of models that a provider may answer with, at their longest. */
export function measureProviderAnswers(): Promise<Stall[]> {
  const adapter = adapters['modelhub']!;
  const cases = answers.map(([name, text]): HostileCase => {
    const bytes = Buffer.from(text);
    return { name, text, work: () => readModels(adapter, new Response(bytes), { task: 'text', tenantId: 'one' }) };
  });
  return measureStalls(cases);
}
