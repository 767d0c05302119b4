import type { Services } from '#core/platform/services';
import { ProviderFailure } from '#modules/connectors/calls/failures';
import {
  callProviders,
  type Provider,
  type ProviderCall,
  type ProviderFetch,
} from '#modules/connectors/calls/provider-calls.service';
import type { Coordinates, GeocodingAdapter, Place, PlaceSearch } from '#modules/connectors/geocoding/adapter';
import { adapterOf, serves } from '#modules/connectors/geocoding/adapters/adapters';
import { isUsable } from '#modules/connectors/settings';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'encryption' | 'log' | 'now' | 'outbound'>;

type Call = Pick<ProviderCall<unknown>, 'tenantId' | 'caller' | 'signal' | 'timeouts'>;

/**
 * Finds places by text, most likely first; `provider` is the api_key of the connector that answered.
 * @throws NoProvider (503) without a connector, ProvidersRefused (422) if all refuse, ProvidersFailed (502) if one failed
 */
export async function searchPlaces(
  services: Dependencies,
  call: Call,
  wanted: PlaceSearch,
): Promise<{ places: Place[]; provider: string }> {
  const { result, provider } = await callProviders(services, {
    ...call,
    operation: 'geocoding.search',
    isIdempotent: true,
    serves,
    attempt: async (settings, fetch) => {
      const adapter = usableAdapter(settings);
      const body = await ask(fetch, adapter.searchRequest(settings, wanted));
      return { result: adapter.readSearch(body, wanted) };
    },
  });
  return { places: result, provider: provider.key };
}

/**
 * Finds the place at the coordinates, or null.
 * @throws NoProvider (503) without a connector, ProvidersRefused (422) if all refuse, ProvidersFailed (502) if one failed
 */
export async function findPlaceAt(
  services: Dependencies,
  call: Call,
  wanted: Coordinates,
): Promise<{ place: Place | null; provider: string }> {
  const { result, provider } = await callProviders(services, {
    ...call,
    operation: 'geocoding.reverse',
    isIdempotent: true,
    serves,
    attempt: async (settings, fetch) => {
      const adapter = usableAdapter(settings);
      return { result: adapter.readReverse(await ask(fetch, adapter.reverseRequest(settings, wanted))) };
    },
  });
  return { place: result, provider: provider.key };
}

function usableAdapter(settings: Provider): GeocodingAdapter {
  const adapter = adapterOf(settings)!;
  if (!isUsable(adapter, settings)) throw new ProviderFailure('credentials');
  return adapter;
}

async function ask(
  fetch: ProviderFetch,
  { url, headers }: { url: string; headers: Record<string, string> },
): Promise<string> {
  return (await fetch(url, { headers })).text();
}
