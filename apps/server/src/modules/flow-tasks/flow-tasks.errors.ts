import { defineError } from '#core/errors/app-error';

export const FlowTaskNotFound = defineError(
  'NOT_FOUND',
  'The flow task does not exist, or is not for you at this time.',
);
export const ListedTwice = defineError('VALIDATION_ERROR', 'body.taskIds: names a task twice.', 'LISTED_TWICE');
export const InvalidFlowTaskConfig = defineError(
  'UNPROCESSABLE_ENTITY',
  'config.audience, from, until, repeatEveryDays or, of a profile, fields cannot be kept: details.problem says why.',
  'INVALID_CONFIG',
);
export const GroupNotFound = defineError(
  'NOT_FOUND',
  'config.audience.groups names groups that do not exist: details.groups says which.',
  'GROUP_NOT_FOUND',
);
export const TooManyFlowTasks = defineError(
  'UNPROCESSABLE_ENTITY',
  'A tenant has at most 500 flow tasks.',
  'TOO_MANY_FLOW_TASKS',
);
export const VersionChanged = defineError(
  'CONFLICT',
  'The task has another version by now, which details.version names: show that one.',
  'VERSION_CHANGED',
);
export const TextChanged = defineError(
  'CONFLICT',
  'The text is another than the one that was shown: show it anew, or ask in the language in which it was shown.',
  'TEXT_CHANGED',
);
export const FactMissing = defineError(
  'UNPROCESSABLE_ENTITY',
  'What the task asks for is not there yet; once it is, the task completes itself.',
  'FACT_MISSING',
);
export const TaskIsMandatory = defineError(
  'UNPROCESSABLE_ENTITY',
  'A mandatory task cannot be skipped.',
  'TASK_IS_MANDATORY',
);
