import { defineError } from '#core/base/errors/app-error';

export const FlowTaskNotFound = defineError(
  'NOT_FOUND',
  'The flow task does not exist, or it is not available to you at this time.',
);
export const DuplicateTaskId = defineError(
  'VALIDATION_ERROR',
  'body.taskIds: contains a duplicate. Send each task once.',
  'TASK_ID_DUPLICATE',
);
export const InvalidFlowTaskConfig = defineError(
  'UNPROCESSABLE_ENTITY',
  '`config` is invalid: `details.problem` names the key and the rule. Correct it.',
  'INVALID_CONFIG',
);
export const GroupNotFound = defineError(
  'NOT_FOUND',
  '`config.audience.groups` contains unknown groups. Remove the groups in `details.groups`.',
  'GROUP_NOT_FOUND',
);
export const TooManyFlowTasks = defineError(
  'UNPROCESSABLE_ENTITY',
  'The tenant has reached the limit of 500 flow tasks. Delete tasks that are no longer needed.',
  'TOO_MANY_FLOW_TASKS',
);
export const VersionChanged = defineError(
  'CONFLICT',
  'The task has changed to version `details.version`. Fetch it again, display it and resubmit.',
  'VERSION_CHANGED',
);
export const TextChanged = defineError(
  'CONFLICT',
  'The text has changed since it was displayed, or the request uses a different language. Fetch it again and resubmit.',
  'TEXT_CHANGED',
);
export const RequirementMissing = defineError(
  'UNPROCESSABLE_ENTITY',
  'The condition of the task is not met yet. Meet it, and the task completes automatically.',
  'REQUIREMENT_MISSING',
);
export const TaskMandatory = defineError(
  'UNPROCESSABLE_ENTITY',
  'The task is mandatory and cannot be skipped. Complete it.',
  'TASK_MANDATORY',
);
