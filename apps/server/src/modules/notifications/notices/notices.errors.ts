import { defineError } from '#core/errors/app-error';

export const NoticeNotFound = defineError('NOT_FOUND', 'The notice does not exist.');
export const UnknownAudience = defineError(
  'UNPROCESSABLE_ENTITY',
  'Some of the userIds or groupIds are of nobody in the tenant: details.unknownUsers and unknownGroups say how many. Nobody was told.',
  'UNKNOWN_AUDIENCE',
);
export const AmbiguousAudience = defineError(
  'UNPROCESSABLE_ENTITY',
  'audience.everyone stands alone: leave out userIds and groupIds, or leave out everyone.',
  'AMBIGUOUS_AUDIENCE',
);
export const CategoryReserved = defineError(
  'UNPROCESSABLE_ENTITY',
  'security and what is below it are the words of the service itself: take another category.',
  'CATEGORY_RESERVED',
);
export const TooManyNotices = defineError(
  'UNPROCESSABLE_ENTITY',
  'At most 20 notices of a tenant can be under way. Send this one when one of them is done.',
  'TOO_MANY_NOTICES',
);
export const NoticeKeyTaken = defineError(
  'CONFLICT',
  'Another notice was sent with this key. Send the same again, or take another key.',
  'KEY_TAKEN',
);
export const NoticeEnded = defineError(
  'CONFLICT',
  'All of the notice has gone out, or it was cancelled before.',
  'NOTICE_ENDED',
);
