import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import {
  EndNotAfterStart,
  EntityNotBookable,
  EntityNotFound,
  EventChanged,
  EventNotFound,
  EventTooLong,
  LocalTimeDoesNotExist,
  EventChangeNotAllowed,
  UserBookingNotAllowed,
  RangeTooLong,
  SlotTaken,
} from '#modules/calendar/calendar.errors';
import * as schemas from '#modules/calendar/calendar.schemas';
import { findFreeBusy, listCalendars } from '#modules/calendar/calendars.service';
import { createEvent, deleteEvent, getEvent, listEvents, updateEvent } from '#modules/calendar/events.service';

/** Smaller than for other clients, because a model has to read the whole answer. */
const toolPageLimit = 50;

const notBookable = [
  EntityNotFound,
  SlotTaken,
  LocalTimeDoesNotExist,
  EndNotAfterStart,
  EventTooLong,
  EntityNotBookable,
  UserBookingNotAllowed,
];

export const calendarRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/calendar',
    operationId: 'listCalendars',
    summary: 'List the calendars of spaces, resources and users by name, and the access of the caller to each',
    access: access.member('calendar.events', 'calendar.free_busy'),
    schema: { query: schemas.ListCalendarsQuery, response: { 200: schemas.CalendarList } },
    tool: {
      toolset: 'calendar',
      description:
        'Lists the calendars of spaces, resources and users by name, with the access of the caller to each. Returns 50 calendars unless `limit` is set.',
    },
    mayStream: true,
    handler: ({ actor, db, query, request, setHeader }) => {
      const limit = query.limit ?? (request.toolCall === undefined ? undefined : toolPageLimit);
      return listCalendars({ db, actor, setHeader }, { ...query, limit });
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/calendar/free-busy',
    operationId: 'findFreeBusy',
    summary: 'Find the busy times of up to 100 spaces, resources and users within 62 days',
    access: access.member('calendar.free_busy', 'calendar.events'),
    schema: { body: schemas.FreeBusyBody, response: { 200: schemas.FreeBusyAnswer } },
    errors: [EntityNotFound, EndNotAfterStart, RangeTooLong],
    audit: { none: 'a question changes nothing' },
    tool: {
      toolset: 'calendar',
      description:
        'Finds the busy times of up to 100 spaces, resources and users within at most 62 days, without event details. Use it before booking.',
      readOnly: true,
    },
    handler: ({ actor, body, db }) => findFreeBusy({ db, actor }, body),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/calendar/events',
    operationId: 'listEvents',
    summary: 'List events that overlap a time range of at most 366 days, by start',
    access: access.member('calendar.events'),
    schema: { query: schemas.ListEventsQuery, response: { 200: schemas.EventPage } },
    errors: [EndNotAfterStart, RangeTooLong],
    tool: {
      toolset: 'calendar',
      description:
        'Lists the events that overlap the time from `from` to `to` (at most 366 days), by start. The title of an event that the caller may not read is null.',
    },
    handler: ({ actor, db, query, setHeader }) => listEvents({ db, actor, setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/calendar/events',
    operationId: 'createEvent',
    summary: 'Create an event that books spaces, resources and users, all of them or none',
    access: access.member('calendar.events'),
    schema: { body: schemas.CreateEventBody, response: { 201: schemas.EventAnswer } },
    errors: notBookable,
    audit: 'calendar_event.created',
    tool: {
      toolset: 'calendar',
      description:
        'Books spaces, resources and users for a time, all of them or none. Times are local times in `timezone`. The call fails if one of them is busy.',
      destructive: false,
    },
    handler: ({ actor, body, db, services }) => createEvent({ db, actor, now: services.now }, body),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/calendar/events/{id}',
    operationId: 'getEvent',
    summary: 'Get an event',
    access: access.member('calendar.events'),
    schema: { params: IdParams, response: { 200: schemas.EventAnswer } },
    errors: [EventNotFound],
    tool: {
      toolset: 'calendar',
      description: 'Gets an event by its id.',
    },
    handler: ({ actor, db, params }) => getEvent({ db, actor }, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/calendar/events/{id}',
    operationId: 'updateEvent',
    summary: 'Update an event: its fields, its time or its entities; null clears a field',
    access: access.member('calendar.events'),
    schema: { params: IdParams, body: schemas.UpdateEventBody, response: { 200: schemas.EventAnswer } },
    errors: [EventNotFound, EventChangeNotAllowed, EventChanged, ...notBookable],
    audit: 'calendar_event.updated',
    tool: {
      toolset: 'calendar',
      description:
        'Updates the given fields of an event and keeps the others. New times move the event. `entities` replaces the whole list.',
    },
    handler: ({ actor, body, db, params, services }) => updateEvent({ db, actor, now: services.now }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/calendar/events/{id}',
    operationId: 'deleteEvent',
    summary: 'Delete an event; its time becomes free',
    access: access.member('calendar.events'),
    schema: { params: IdParams, response: { 204: null } },
    errors: [EventNotFound, EventChangeNotAllowed],
    audit: 'calendar_event.deleted',
    tool: {
      toolset: 'calendar',
      description: 'Deletes an event permanently. The time of all its entities becomes free.',
    },
    handler: ({ actor, db, params, services }) => deleteEvent({ db, actor, now: services.now }, params.id),
  }),
];
