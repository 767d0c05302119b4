import Type, { type Static } from 'typebox';

import { closed, dataOf, nullable, sortable } from '#core/http/schemas';

const tasks = ['text', 'image'] as const;
const Price = nullable(Type.String({ description: 'US dollars in decimal notation; null where nobody knows.' }));

const Model = closed(
  {
    id: Type.String(),
    name: Type.String(),
    description: nullable(Type.String()),
    context_length: nullable(Type.Integer()),
    prompt_price: Price,
    completion_price: Price,
    image_price: Price,
    request_price: Price,
    is_free: Type.Boolean(),
  },
  { title: 'Model' },
);

export const ModelList = dataOf(
  closed({ task: Type.Enum(tasks), total: Type.Integer(), models: Type.Array(Model) }, { title: 'ModelList' }),
);

export const ListModelsQuery = Type.Object({
  task: Type.Optional(Type.Enum(tasks, { default: 'text', description: 'What the models make.' })),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'In the id and the name.' })),
  min_context: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'In tokens; leaves out what is unknown.' }),
  ),
  free: Type.Optional(Type.Boolean()),
  sort: sortable(['name', 'price', 'context_length']),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'All of them where it is not sent.' })),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 })),
});
export type ListModelsQuery = Static<typeof ListModelsQuery>;

const Characters = Type.Integer({ minimum: 0, maximum: 1_000_000_000 });

export const EstimateBody = closed({
  model_id: Type.String({ minLength: 1, maxLength: 200 }),
  task: Type.Optional(Type.Enum(tasks, { default: 'text', description: 'The catalog that the model is in.' })),
  characters: Characters,
  expected_output_characters: Type.Optional(Characters),
});
export type EstimateBody = Static<typeof EstimateBody>;

export const EstimateAnswer = dataOf(
  closed(
    {
      model_id: Type.String(),
      prompt_cost: Price,
      completion_cost: Price,
      total_cost: Price,
      currency: Type.Literal('USD'),
    },
    { title: 'ModelCostEstimate' },
  ),
);
