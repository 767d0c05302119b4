import type { Settings } from '#core/services';
import { OriginRefused } from '#modules/mcp/mcp.errors';

/**
 * Pages of other origins could have a browser call a service that only that browser reaches (DNS rebinding). Programs send
 * no Origin.
 * @throws AppError unless the page is our own, or of an origin that the operator allows.
 */
export function assertOwnOrigin(
  origin: string | undefined,
  settings: Pick<Settings, 'publicUrl' | 'corsOrigins'>,
): void {
  if (origin === undefined) return;
  const own = new URL(settings.publicUrl).origin;
  if (origin !== own && !settings.corsOrigins.includes(origin)) throw OriginRefused();
}
