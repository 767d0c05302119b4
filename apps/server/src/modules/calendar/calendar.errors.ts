import { defineError } from '#core/errors/app-error';

export const EventNotFound = defineError('NOT_FOUND', 'The event does not exist.');
export const EntityNotFound = defineError(
  'NOT_FOUND',
  'A space, resource or person of the request does not exist.',
  'ENTITY_NOT_FOUND',
);
export const NotYourEvent = defineError(
  'AUTHORIZATION_ERROR',
  'Only who organizes an event, or manages calendars, may change it.',
  'NOT_YOUR_EVENT',
);
export const OthersNotBookable = defineError(
  'AUTHORIZATION_ERROR',
  'You may book yourself, spaces and resources; other people are booked by who manages calendars.',
  'OTHERS_NOT_BOOKABLE',
);
export const EntityNotBookable = defineError(
  'UNPROCESSABLE_ENTITY',
  'What is archived or suspended cannot be booked.',
  'ENTITY_NOT_BOOKABLE',
);
export const LocalTimeDoesNotExist = defineError(
  'UNPROCESSABLE_ENTITY',
  'The clocks of the time zone skip this time.',
  'LOCAL_TIME_DOES_NOT_EXIST',
);
export const EndNotAfterStart = defineError(
  'UNPROCESSABLE_ENTITY',
  'The end has to be later than the start.',
  'END_NOT_AFTER_START',
);
export const EventTooLong = defineError('UNPROCESSABLE_ENTITY', 'An event lasts at most 31 days.', 'EVENT_TOO_LONG');
export const RangeTooLong = defineError(
  'UNPROCESSABLE_ENTITY',
  'The range from `from` to `to` is too long.',
  'RANGE_TOO_LONG',
);
export const SlotTaken = defineError('CONFLICT', 'The time is taken.', 'SLOT_TAKEN');
export const EventChanged = defineError(
  'CONFLICT',
  'The event was changed at the same time. Look at it again.',
  'EVENT_CHANGED',
);
