import { defineModule } from '#core/http/route';
import { EntityNotFound, EventNotFound, SlotTaken } from '#modules/calendar/calendar.errors';
import { calendarRoutes } from '#modules/calendar/calendar.routes';

export { zoneName } from '#modules/calendar/calendar.rules';

export { releaseTimeOf } from '#modules/calendar/events.service';

/** Events that book spaces, resources and users, and their free and busy times. */
export const calendarModule = defineModule({
  name: 'calendar',
  description: 'Book spaces, resources and users, and find free time',
  constraints: {
    calendar_bookings_no_overlap: SlotTaken,
    calendar_bookings_event: EventNotFound,
    calendar_bookings_space: EntityNotFound,
    calendar_bookings_resource: EntityNotFound,
    calendar_bookings_user: EntityNotFound,
  },
  routes: calendarRoutes,
});
