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

/** What every connection is made with, so that none is made to an address that was not judged. */
export type Judgement = {
  /** Node looks up names only, so an address that stands in the place of a name is judged here. @throws AddressRefused */
  assertOpen(hostname: string): void;
  /** Resolves once and hands on exactly what was judged; one closed address among many closes the name. */
  lookup(hostname: string, options: LookupOptions, callback: LookupCallback): void;
};

/** The address is closed, which asking again does not change. */
export class AddressRefused extends Error {
  constructor(address: string) {
    super(`${address} is not open to outbound calls`);
  }
}

export function createJudgement(guard: AddressGuard, lookup: Lookup): Judgement {
  return {
    assertOpen(hostname) {
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
