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
} from '#core/base/schemas';
import { maxTasks, profileFields, roles, taskTypes } from '#modules/flow-tasks/flow-tasks.rules';

const TaskType = Type.Enum([...taskTypes], {
  description:
    'Type of the task. `avatar`, `email_verification`, `phone_verification` and `profile` complete when their condition is met.',
});
const name = { description: 'Name for administrators; it is the title if no text has one.' };
const targetRoute = {
  description: 'Page on which the user completes the task: a path of the application, or an https URL.',
};
const isMandatory = { description: 'Whether the task cannot be skipped.' };
const isActive = { description: 'Whether users see the task.' };
const version = {
  description: 'Version of the task; a new version reopens the task for all users. Null if it has none.',
};
const config = 'Conditions of the task: `audience`, `from`, `until`, `repeatEveryDays`, `fields`. Other keys are free';
const i18n = { description: 'Texts by language.' };
const Priority = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Position in the order of tasks; lower numbers come first.',
});
const Texts = closed({
  title: Type.Optional(Type.String({ maxLength: 200, description: 'Title.' })),
  description: Type.Optional(Type.String({ maxLength: 10_000 })),
  buttonText: Type.Optional(
    Type.String({ maxLength: 100, description: 'Label of the button that completes the task.' }),
  ),
});
const ofLanguages = { additionalProperties: false, maxProperties: 200 };

const required = {
  name: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S', ...name }),
  targetRoute: Type.String({
    minLength: 1,
    maxLength: 255,
    format: 'app-route',
    ...targetRoute,
  }),
};
const optional = {
  isMandatory: Type.Optional(Type.Boolean(isMandatory)),
  isActive: Type.Optional(Type.Boolean(isActive)),
  version: Type.Optional(nullable(Type.String({ maxLength: 50 }), version)),
  config: Type.Optional(freeObjectOfAtMost(16_384, { description: `${config}; at most 16384 bytes as JSON.` })),
  i18n: Type.Optional(
    Type.Record(Language, Texts, {
      ...ofLanguages,
      ...jsonOfAtMost(65_536),
      description: 'Texts by language; at most 65536 bytes as JSON.',
    }),
  ),
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
    maxItems: maxTasks,
    description:
      'Tasks in their new order, by identifier, without duplicates. Other tasks follow in their present order.',
  }),
});
export type ReorderBody = Static<typeof ReorderBody>;

const flowTask = {
  id: Uuid,
  type: TaskType,
  name: Type.String(name),
  targetRoute: Type.String(targetRoute),
  priority: Type.Integer({ description: 'Position in the order of tasks; lower numbers come first.' }),
  isMandatory: Type.Boolean(isMandatory),
  isActive: Type.Boolean(isActive),
  version: nullable(Type.String(), version),
  config: Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), { description: `${config}.` }),
  i18n: Type.Record(Language, Texts, { additionalProperties: false, ...i18n }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};
export const FlowTask = closed(flowTask, { title: 'FlowTask' });
export const FlowTaskList = closed({ data: Type.Array(FlowTask), total: Type.Integer() });

const page = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 200, description: 'Maximum number of tasks; all without it.' }),
  ),
  offset: paging.offset,
};
export const ListFlowTasksQuery = Type.Object(page);
export type ListFlowTasksQuery = Static<typeof ListFlowTasksQuery>;

export const ResetAnswer = closed({
  success: Type.Boolean(),
  resetCount: Type.Integer({ description: 'Number of users whose completion counted before the reset.' }),
});
export const ReorderAnswer = closed({ success: Type.Boolean() });
export const FlowTaskReport = dataOf(
  closed({
    open: Type.Integer({ description: 'Number of active users in the audience for whom the task is open.' }),
    completed: Type.Integer({ description: 'Number of active users in the audience who completed the task.' }),
    skipped: Type.Integer({ description: 'Number of active users in the audience who skipped the task.' }),
  }),
);

const language = Type.Optional(
  Type.String({
    pattern: '^[a-z]{2}$',
    description: 'Language of the texts (ISO 639-1), instead of `Accept-Language`.',
  }),
);
export const TextsQuery = Type.Object({ language });

const PendingFlowTask = closed(
  {
    ...flowTask,
    text: closed(
      {
        language: nullable(Type.String(), {
          description: 'Language of the title (ISO 639-1); null if the name of the task is the title.',
        }),
        title: Type.String({ description: 'Title.' }),
        description: nullable(Type.String()),
        buttonText: nullable(Type.String(), { description: 'Label of the button that completes the task.' }),
        hash: Type.String({
          description: 'Hash of the texts; the client sends it as `textHash` to complete the task.',
        }),
      },
      { description: 'Texts to display, each in the first preferred language that has it.' },
    ),
  },
  { title: 'PendingFlowTask' },
);
export const PendingFlowTasks = closed({ data: Type.Array(PendingFlowTask), total: Type.Integer() });

export const CompleteFlowTaskBody = nullable(
  closed({
    version: Type.Optional(
      nullable(Type.String({ maxLength: 50 }), {
        description: 'Version that was displayed; 409 if the task has a different version now.',
      }),
    ),
    textHash: Type.Optional(
      Type.String({
        pattern: '^[0-9a-f]{64}$',
        description: '`text.hash` of the displayed texts; 409 if the texts in the language of this request differ.',
      }),
    ),
    answers: Type.Optional(
      freeObjectOfAtMost(16_384, { description: 'Answers of the user, in any form; at most 16384 bytes as JSON.' }),
    ),
  }),
);
export type CompleteFlowTaskBody = Static<typeof CompleteFlowTaskBody>;

const completion = {
  id: Uuid,
  taskId: Type.String({ format: 'uuid', description: 'Flow task, by identifier; the task may be deleted.' }),
  taskType: Type.Enum([...taskTypes], { description: 'Type of the task.' }),
  taskName: Type.String({ description: 'Name of the task at that time.' }),
  outcome: Type.Enum(['completed', 'skipped'], { description: 'Whether the task was completed or skipped.' }),
  source: Type.Enum(['person', 'automatic'], {
    description: 'Whether the user completed the task, or the service recorded that its condition was met.',
  }),
  version: nullable(Type.String(), { description: 'Version of the task at that time; null if it had none.' }),
  language: nullable(Type.String(), {
    description: 'Language of the displayed title (ISO 639-1); null if the name of the task was the title.',
  }),
  textHash: Type.String({
    description: 'SHA-256 hash of the displayed texts: {"title","description","buttonText"} as JSON, hexadecimal.',
  }),
  answers: nullable(FreeObject, { description: 'Answers of the user; null if the client sent none.' }),
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

/** The reserved keys of a config; all other keys are free. */
const reservedKeys = {
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
export const TaskConfig = Type.Object(reservedKeys);
export const ProfileConfig = Type.Object({
  ...reservedKeys,
  fields: Type.Optional(Type.Array(Type.Enum([...profileFields]), { minItems: 1, uniqueItems: true })),
});
