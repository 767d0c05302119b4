import { defineModule } from '#core/http/route';
import { geoRoutes } from '#modules/geo/geo.routes';

/** Geocoding: places by text and by coordinates. */
export const geoModule = defineModule({
  name: 'geo',
  description: 'Find places by text or by coordinates',
  routes: geoRoutes,
});
