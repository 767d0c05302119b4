import { defineError } from '#core/base/errors/app-error';

export const NoticeNotFound = defineError('NOT_FOUND', 'The notification does not exist.');
export const UnknownAudience = defineError(
  'UNPROCESSABLE_ENTITY',
  'Some userIds or groupIds do not exist in the tenant; details.unknownUsers and details.unknownGroups count them. No notification was sent. Correct the audience and resubmit.',
  'UNKNOWN_AUDIENCE',
);
export const AmbiguousAudience = defineError(
  'UNPROCESSABLE_ENTITY',
  'audience.everyone cannot be combined with userIds or groupIds. Send one or the other.',
  'AMBIGUOUS_AUDIENCE',
);
export const CategoryReserved = defineError(
  'UNPROCESSABLE_ENTITY',
  'The category security and all categories below it are reserved for the service. Use another category.',
  'CATEGORY_RESERVED',
);
export const TooManyNotices = defineError(
  'UNPROCESSABLE_ENTITY',
  'A tenant can have at most 20 unfinished notifications. Send this one when one of them is done.',
  'TOO_MANY_NOTICES',
);
export const NoticeKeyTaken = defineError(
  'CONFLICT',
  'A different notification was sent with this key. Resend the same content or use another key.',
  'KEY_TAKEN',
);
export const NoticeEnded = defineError(
  'CONFLICT',
  'The notification has been sent completely or was cancelled before. It cannot be cancelled now.',
  'NOTICE_ENDED',
);
