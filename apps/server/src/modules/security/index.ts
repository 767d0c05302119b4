import { defineModule } from '#core/http/route';
import { RangeTaken } from '#modules/security/security.errors';
import { endedRules } from '#modules/security/security.jobs';
import { securityRoutes } from '#modules/security/security.routes';

/** Configuration of the limits that `core/platform/limits` enforces, for system administrators. */
export const securityModule = defineModule({
  name: 'security',
  description: 'Security configuration of the installation; rules for addresses',
  routes: securityRoutes,
  jobs: [endedRules],
  constraints: { ip_rules_range_key: RangeTaken },
});
