import { defineModule } from '#core/http/route';
import { RangeTaken } from '#modules/security/security.errors';
import { securityRoutes } from '#modules/security/security.routes';

/** What the installation defends itself with, as system administrators configure it; `core/limits` does it. */
export const securityModule = defineModule({
  name: 'security',
  description: 'Security configuration of the installation; allowed and blocked addresses',
  routes: securityRoutes,
  constraints: { ip_rules_range_key: RangeTaken },
});
