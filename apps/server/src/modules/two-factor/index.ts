import { defineModule } from '#core/http/route';
import { twoFactorRoutes } from '#modules/two-factor/two-factor.routes';

/** Second factors of users: codes of an app, delivered codes and backup codes. */
export const twoFactorModule = defineModule({
  name: 'two-factor',
  description: 'Second factors of users: codes of an authenticator app, delivered codes and backup codes',
  routes: twoFactorRoutes,
});
