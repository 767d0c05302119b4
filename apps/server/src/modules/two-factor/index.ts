import { defineModule } from '#core/http/route';
import { twoFactorRoutes } from '#modules/two-factor/two-factor.routes';

/** Second factors of people: codes from an app or a message, and backup codes. */
export const twoFactorModule = defineModule({
  name: 'two-factor',
  description: 'Second factors of people: codes from an app or a message, and backup codes',
  routes: twoFactorRoutes,
});
