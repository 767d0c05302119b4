import Type, { type Static } from 'typebox';

import { closed, dataOf, nullable, sortable } from '#core/base/schemas';

const tasks = ['text', 'image'] as const;
const priceOf = (what: string) =>
  nullable(Type.String(), { description: `${what} in US dollars, decimal notation; null if unknown.` });

const Model = closed(
  {
    id: Type.String({ description: 'Identifier of the model at the provider.' }),
    name: Type.String(),
    description: nullable(Type.String()),
    context_length: nullable(Type.Integer(), { description: 'Context length in tokens; null if unknown.' }),
    prompt_price: priceOf('Price per input token'),
    completion_price: priceOf('Price per output token'),
    image_price: priceOf('Price per image'),
    request_price: priceOf('Price per request'),
    is_free: Type.Boolean({ description: 'Whether all known prices are 0, those of input and output included.' }),
  },
  { title: 'Model' },
);

export const ModelList = dataOf(
  closed(
    {
      task: Type.Enum(tasks, { description: 'Kind of output of the models.' }),
      total: Type.Integer(),
      models: Type.Array(Model, { description: 'Models of the page.' }),
    },
    { title: 'ModelList' },
  ),
);

export const ListModelsQuery = Type.Object({
  task: Type.Optional(Type.Enum(tasks, { default: 'text', description: 'Kind of output of the models.' })),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Text to search for in id and name.' })),
  min_context: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000_000,
      description: 'Minimum context length in tokens; models of unknown length are left out.',
    }),
  ),
  free: Type.Optional(Type.Boolean({ description: 'true: free models only; false: all others.' })),
  sort: sortable(['name', 'price', 'context_length']),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 200, description: 'Maximum number of models in the page; default: all.' }),
  ),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 })),
});
export type ListModelsQuery = Static<typeof ListModelsQuery>;

const charactersOf = (text: string) =>
  Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: `Length of the ${text} in characters.` });
const ModelId = { description: 'Identifier of the model, as in the catalog.' };

export const EstimateBody = closed({
  model_id: Type.String({ minLength: 1, maxLength: 200, ...ModelId }),
  task: Type.Optional(Type.Enum(tasks, { default: 'text', description: 'Catalog that contains the model.' })),
  characters: charactersOf('input'),
  expected_output_characters: Type.Optional(charactersOf('expected output')),
});
export type EstimateBody = Static<typeof EstimateBody>;

export const EstimateAnswer = dataOf(
  closed(
    {
      model_id: Type.String(ModelId),
      prompt_cost: priceOf('Cost of the input'),
      completion_cost: priceOf('Cost of the output'),
      total_cost: priceOf('Cost of input, output and request'),
      currency: Type.Literal('USD', { description: 'Currency of all costs.' }),
    },
    { title: 'ModelCostEstimate' },
  ),
);
