import type { Principal } from '#core/base/access/principal';
import type { Flow } from '#core/base/concurrency/fair-queue';
import { clientNetwork } from '#core/base/net/ranges';

/** Work for a verified principal. */
export function flowOf({ homeTenantId, id }: Pick<Principal, 'homeTenantId' | 'id'>): Flow {
  return { tenant: homeTenantId, principal: id };
}

/**
 * Work for a client address, or the /64 of an IPv6 address: its share is that of one tenant.
 * @param claimed the tenant that the client claims to mean; it shares what the address has, because every client can claim it
 */
export function addressFlow(address: string, claimed = ''): Flow {
  return { tenant: `address ${clientNetwork(address)}`, principal: claimed };
}
