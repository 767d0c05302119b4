import type { LookupAddress, LookupOptions } from 'node:dns';

import type { AddressGuard } from '#core/platform/outbound/addresses';
import { literalAddress } from '#core/platform/outbound/target';

/** A resolver as `node:dns` has one. */
export type Lookup = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** The checks before every connection, so that none leads to an address that was not checked. */
export type AddressPolicy = {
  /** Checks an IP address that is used as a name, because Node looks up names only. @throws AddressRefused */
  assertAllowed(hostname: string): void;
  /** Resolves once and returns exactly the checked addresses; one refused address refuses the name. */
  lookup(hostname: string, options: LookupOptions, callback: LookupCallback): void;
};

/** The address is not allowed, so a retry would fail as well. */
export class AddressRefused extends Error {
  constructor(address: string) {
    super(`${address} is not open to outbound calls`);
  }
}

export function createAddressPolicy(guard: AddressGuard, lookup: Lookup): AddressPolicy {
  return {
    assertAllowed(hostname) {
      const literal = literalAddress(hostname);
      if (literal !== undefined && !guard.isAllowed(literal)) throw new AddressRefused(literal);
    },
    lookup(hostname, options, callback) {
      lookup(hostname, { ...options, all: true }, (error, addresses) => {
        const refused = error === null ? addresses.find(({ address }) => !guard.isAllowed(address)) : undefined;
        const [first] = addresses ?? [];
        if (error !== null) callback(error, []);
        else if (refused !== undefined) callback(new AddressRefused(refused.address), []);
        else if (first === undefined) callback(new Error('the name has no address'), []);
        else if (options.all === true) callback(null, addresses);
        else callback(null, first.address, first.family);
      });
    },
  };
}
