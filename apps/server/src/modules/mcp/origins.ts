import type { Settings } from '#core/platform/services';
import { OriginRefused } from '#modules/mcp/mcp.errors';

/**
 * A page of another origin could use a browser to call a service that only this browser reaches (DNS rebinding). Programs send
 * no Origin.
 * @throws AppError unless the origin is ours or allowed by the operator.
 */
export function assertOwnOrigin(
  origin: string | undefined,
  settings: Pick<Settings, 'publicUrl' | 'corsOrigins'>,
): void {
  if (origin === undefined) return;
  const own = new URL(settings.publicUrl).origin;
  if (origin !== own && !settings.corsOrigins.includes(origin)) throw OriginRefused();
}
