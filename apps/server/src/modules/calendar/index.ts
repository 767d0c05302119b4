import { access } from '#core/access/access';
import { defineModule, defineRoute } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import {
  EndNotAfterStart,
  EntityNotBookable,
  EntityNotFound,
  EventChanged,
  EventNotFound,
  EventTooLong,
  LocalTimeDoesNotExist,
  NotYourEvent,
  OthersNotBookable,
  RangeTooLong,
  SlotTaken,
} from '#modules/calendar/calendar.errors';
import * as schemas from '#modules/calendar/calendar.schemas';
import { findFreeBusy, listCalendars } from '#modules/calendar/calendars.service';
import { createEvent, deleteEvent, getEvent, listEvents, updateEvent } from '#modules/calendar/events.service';

export { zoneName } from '#modules/calendar/calendar.rules';
export { releaseTimeOf } from '#modules/calendar/events.service';

const notBookable = [
  EntityNotFound,
  SlotTaken,
  LocalTimeDoesNotExist,
  EndNotAfterStart,
  EventTooLong,
  EntityNotBookable,
  OthersNotBookable,
];

/** Whose time is taken, when, and for what: of spaces, resources and people. */
export const calendarModule = defineModule({
  name: 'calendar',
  description: 'Events, which take the time of spaces, resources and people, and who is free when',
  constraints: {
    calendar_bookings_no_overlap: SlotTaken,
    calendar_bookings_event: EventNotFound,
    calendar_bookings_space: EntityNotFound,
    calendar_bookings_resource: EntityNotFound,
    calendar_bookings_user: EntityNotFound,
  },
  routes: [
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/calendar',
      operationId: 'listCalendars',
      summary: 'Calendars of spaces, resources and people by name, and what you may do in each',
      access: access.member('calendar.events', 'calendar.free_busy'),
      schema: { query: schemas.ListCalendarsQuery, response: { 200: schemas.CalendarList } },
      tool: {
        toolset: 'calendar',
        description:
          'Lists whose time can be looked at or booked: spaces, resources and people by name, and what the caller may do in each.',
      },
      handler: ({ actor, db, query, setHeader }) => listCalendars({ db, actor, setHeader }, query),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/secure/calendar/free-busy',
      operationId: 'findFreeBusy',
      summary: 'When each of up to 100 entities is busy within at most 62 days, and nothing of why',
      access: access.member('calendar.free_busy', 'calendar.events'),
      schema: { body: schemas.FreeBusyBody, response: { 200: schemas.FreeBusyAnswer } },
      errors: [EntityNotFound, EndNotAfterStart, RangeTooLong],
      audit: { none: 'a question changes nothing' },
      tool: {
        toolset: 'calendar',
        description:
          'Tells when each of up to 100 spaces, resources or people is busy within at most 62 days, and nothing of why. Use it before booking.',
        readOnly: true,
      },
      handler: ({ actor, body, db }) => findFreeBusy({ db, actor }, body),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/calendar/events',
      operationId: 'listEvents',
      summary: 'Events that touch the time from `from` to `to`, by start; at most 366 days',
      access: access.member('calendar.events'),
      schema: { query: schemas.ListEventsQuery, response: { 200: schemas.EventPage } },
      errors: [EndNotAfterStart, RangeTooLong],
      tool: {
        toolset: 'calendar',
        description:
          'Lists the events that touch the time between `from` and `to` (at most 366 days), by start. Titles of events that are not for the caller are null.',
      },
      handler: ({ actor, db, query, setHeader }) => listEvents({ db, actor, setHeader }, query),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/secure/calendar/events',
      operationId: 'createEvent',
      summary: 'Book spaces, resources and people for a time: all of them or none',
      access: access.member('calendar.events'),
      schema: { body: schemas.CreateEventBody, response: { 201: schemas.EventAnswer } },
      errors: notBookable,
      audit: 'calendar_event.created',
      tool: {
        toolset: 'calendar',
        description:
          'Books spaces, resources and people for a time: all of them or none. Times are local ones of `timezone`. It is refused where somebody is busy already.',
        destructive: false,
      },
      handler: ({ actor, body, db, services }) => createEvent({ db, actor, now: services.now }, body),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/calendar/events/{id}',
      operationId: 'getEvent',
      summary: 'One event',
      access: access.member('calendar.events'),
      schema: { params: IdParams, response: { 200: schemas.EventAnswer } },
      errors: [EventNotFound],
      tool: {
        toolset: 'calendar',
        description: 'One event by its id.',
      },
      handler: ({ actor, db, params }) => getEvent({ db, actor }, params.id),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/secure/calendar/events/{id}',
      operationId: 'updateEvent',
      summary: 'Change fields of an event, or move it to another time or to other entities; null clears a field',
      access: access.member('calendar.events'),
      schema: { params: IdParams, body: schemas.UpdateEventBody, response: { 200: schemas.EventAnswer } },
      errors: [EventNotFound, NotYourEvent, EventChanged, ...notBookable],
      audit: 'calendar_event.updated',
      tool: {
        toolset: 'calendar',
        description:
          'Changes the given fields of an event and keeps the others: moves it to another time, or books other entities instead. `entities` replaces the whole list.',
      },
      handler: ({ actor, body, db, params, services }) =>
        updateEvent({ db, actor, now: services.now }, params.id, body),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/secure/calendar/events/{id}',
      operationId: 'deleteEvent',
      summary: 'Delete an event: the time is free again',
      access: access.member('calendar.events'),
      schema: { params: IdParams, response: { 204: null } },
      errors: [EventNotFound, NotYourEvent],
      audit: 'calendar_event.deleted',
      tool: {
        toolset: 'calendar',
        description: 'Deletes an event for good: the time of all its entities is free again.',
      },
      handler: ({ actor, db, params, services }) => deleteEvent({ db, actor, now: services.now }, params.id),
    }),
  ],
});
