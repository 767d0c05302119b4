import { defineError } from '#core/base/errors/app-error';

export const EventNotFound = defineError('NOT_FOUND', 'The event does not exist.');
export const EntityNotFound = defineError(
  'NOT_FOUND',
  'A space, resource or user in `entities` does not exist. Check the identifiers.',
  'ENTITY_NOT_FOUND',
);
export const EventChangeNotAllowed = defineError(
  'AUTHORIZATION_ERROR',
  'Only the organizer or a calendar manager may change this event.',
  'EVENT_CHANGE_NOT_ALLOWED',
);
export const UserBookingNotAllowed = defineError(
  'AUTHORIZATION_ERROR',
  'You may only book yourself, spaces and resources. Ask a calendar manager to book other users.',
  'USER_BOOKING_NOT_ALLOWED',
);
export const EntityNotBookable = defineError(
  'UNPROCESSABLE_ENTITY',
  'An archived space or resource, or an inactive user, cannot be booked. Remove the entities in `details.entities`.',
  'ENTITY_NOT_BOOKABLE',
);
export const LocalTimeDoesNotExist = defineError(
  'UNPROCESSABLE_ENTITY',
  'The local time does not exist in this time zone, because daylight saving time begins. Choose another time.',
  'LOCAL_TIME_DOES_NOT_EXIST',
);
export const EndNotAfterStart = defineError(
  'UNPROCESSABLE_ENTITY',
  'The end is not later than the start. Choose a later end.',
  'END_NOT_AFTER_START',
);
export const EventTooLong = defineError(
  'UNPROCESSABLE_ENTITY',
  'The event is longer than 31 days. Choose an earlier end.',
  'EVENT_TOO_LONG',
);
export const RangeTooLong = defineError(
  'UNPROCESSABLE_ENTITY',
  'The range from `from` to `to` is longer than the limit in `details.longestDays`. Choose a shorter range.',
  'RANGE_TOO_LONG',
);
export const SlotTaken = defineError(
  'CONFLICT',
  'An entity is busy at this time. Choose another time; `details.conflicts` lists the busy times.',
  'SLOT_TAKEN',
);
export const EventChanged = defineError(
  'CONFLICT',
  'Another request changed the event at the same time. Fetch the event again and retry.',
  'EVENT_CHANGED',
);
