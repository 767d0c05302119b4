import Type, { type Static } from 'typebox';

import {
  FreeObject,
  Language,
  Timestamp,
  Uuid,
  closed,
  dataOf,
  freeObjectOfAtMost,
  jsonOfAtMost,
  nullable,
  pageOf,
  paging,
} from '#core/http/schemas';
import { mostTasks, profileFields, roles, taskTypes } from '#modules/flow-tasks/flow-tasks.rules';

const TaskType = Type.Enum([...taskTypes]);
const Priority = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'The lowest comes first.' });
const Texts = closed({
  title: Type.Optional(Type.String({ maxLength: 200 })),
  description: Type.Optional(Type.String({ maxLength: 10_000 })),
  buttonText: Type.Optional(Type.String({ maxLength: 100 })),
});
const ofLanguages = { additionalProperties: false, maxProperties: 200 };

const required = {
  name: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' }),
  targetRoute: Type.String({ minLength: 1, maxLength: 255 }),
};
const optional = {
  isMandatory: Type.Optional(Type.Boolean()),
  isActive: Type.Optional(Type.Boolean()),
  version: Type.Optional(nullable(Type.String({ maxLength: 50 }))),
  config: Type.Optional(freeObjectOfAtMost(16_384)),
  i18n: Type.Optional(Type.Record(Language, Texts, { ...ofLanguages, ...jsonOfAtMost(65_536) })),
};

export const CreateFlowTaskBody = closed({
  type: TaskType,
  ...required,
  priority: Type.Optional(Priority),
  ...optional,
});
export type CreateFlowTaskBody = Static<typeof CreateFlowTaskBody>;

export const UpdateFlowTaskBody = closed(
  {
    name: Type.Optional(required.name),
    targetRoute: Type.Optional(required.targetRoute),
    priority: Type.Optional(Priority),
    ...optional,
  },
  { minProperties: 1 },
);
export type UpdateFlowTaskBody = Static<typeof UpdateFlowTaskBody>;

export const ReorderBody = closed({
  taskIds: Type.Array(Uuid, {
    minItems: 1,
    maxItems: mostTasks,
    description: 'Each once. The first is the most important. What is not listed comes after them, in its order.',
  }),
});
export type ReorderBody = Static<typeof ReorderBody>;

const flowTask = {
  id: Uuid,
  type: TaskType,
  name: Type.String(),
  targetRoute: Type.String(),
  priority: Type.Integer(),
  isMandatory: Type.Boolean(),
  isActive: Type.Boolean(),
  version: nullable(Type.String()),
  config: FreeObject,
  i18n: Type.Record(Language, Texts, { additionalProperties: false }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};
export const FlowTask = closed(flowTask, { title: 'FlowTask' });
export const FlowTaskList = closed({ data: Type.Array(FlowTask), total: Type.Integer() });

const part = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'All, unless it is given.' })),
  offset: paging.offset,
};
export const ListFlowTasksQuery = Type.Object(part);
export type ListFlowTasksQuery = Static<typeof ListFlowTasksQuery>;

export const ResetAnswer = closed({
  success: Type.Boolean(),
  resetCount: Type.Integer({ description: 'People whose completion counted until then.' }),
});
export const ReorderAnswer = closed({ success: Type.Boolean() });
export const FlowTaskReport = dataOf(
  closed({ open: Type.Integer(), completed: Type.Integer(), skipped: Type.Integer() }),
);

const language = Type.Optional(
  Type.String({ pattern: '^[a-z]{2}$', description: 'For the texts, instead of Accept-Language.' }),
);
export const TextsQuery = Type.Object({ language });

const PendingFlowTask = closed(
  {
    ...flowTask,
    text: closed(
      {
        language: nullable(Type.String({ description: 'That of the title.' })),
        title: Type.String(),
        description: nullable(Type.String()),
        buttonText: nullable(Type.String()),
        hash: Type.String({ description: 'To be sent back as textHash by whoever completes it.' }),
      },
      { description: 'What to show, each text in the first language that has one.' },
    ),
  },
  { title: 'PendingFlowTask' },
);
export const PendingFlowTasks = closed({ data: Type.Array(PendingFlowTask), total: Type.Integer() });

export const CompleteFlowTaskBody = nullable(
  closed({
    version: Type.Optional(
      nullable(Type.String({ maxLength: 50, description: 'The one that was shown; another one by now is 409.' })),
    ),
    textHash: Type.Optional(
      Type.String({
        pattern: '^[0-9a-f]{64}$',
        description: 'text.hash of what was shown; 409 where the text in the language of this request is another.',
      }),
    ),
    answers: Type.Optional(freeObjectOfAtMost(16_384)),
  }),
);
export type CompleteFlowTaskBody = Static<typeof CompleteFlowTaskBody>;

const completion = {
  id: Uuid,
  taskId: Uuid,
  taskType: TaskType,
  taskName: Type.String(),
  outcome: Type.Enum(['completed', 'skipped']),
  source: Type.Enum(['person', 'automatic']),
  version: nullable(Type.String()),
  language: nullable(Type.String()),
  textHash: Type.String({ description: 'SHA-256 of {"title","description","buttonText"} as JSON, as it was shown.' }),
  answers: nullable(FreeObject),
  ipAddress: nullable(Type.String()),
  userAgent: nullable(Type.String()),
  sessionId: Uuid,
  completedAt: Timestamp,
};
const FlowTaskCompletion = closed(completion, { title: 'FlowTaskCompletion' });
export const CompletionAnswer = dataOf(FlowTaskCompletion);
export const CompletionPage = pageOf(FlowTaskCompletion);
export const EvidencePage = pageOf(closed({ userId: Uuid, ...completion }, { title: 'FlowTaskEvidence' }));

export const PageQuery = Type.Object(paging);
export type PageQuery = Static<typeof PageQuery>;

/** Of the keys of a config that have a meaning; all others are free. */
const meanings = {
  audience: Type.Optional(
    closed({
      groups: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: 100 })),
      roles: Type.Optional(Type.Array(Type.Enum([...roles]), { minItems: 1, uniqueItems: true })),
      createdBefore: Type.Optional(Timestamp),
    }),
  ),
  from: Type.Optional(Timestamp),
  until: Type.Optional(Timestamp),
  repeatEveryDays: Type.Optional(Type.Integer({ minimum: 1, maximum: 3650 })),
};
export const TaskConfig = Type.Object(meanings);
export const ProfileConfig = Type.Object({
  ...meanings,
  fields: Type.Optional(Type.Array(Type.Enum([...profileFields]), { minItems: 1, uniqueItems: true })),
});
