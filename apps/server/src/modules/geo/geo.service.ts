import type { Actor } from '#core/base/access/principal';
import { createLimitedAttempt } from '#core/data/rate-limit/limited-attempts';
import type { Services } from '#core/platform/services';
import { findPlaceAt, searchPlaces, type Place } from '#modules/connectors/index';
import { TooManyLookups } from '#modules/geo/geo.errors';
import type { ReverseQuery, SearchQuery } from '#modules/geo/geo.schemas';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'encryption' | 'log' | 'now' | 'outbound'>;

/** Keeps one caller from using up the rate limit that a provider sets for the whole installation. */
const limitPerActor = { max: 60, windowMs: 60_000 };

type Scope = { actor: Actor; services: Dependencies; signal: AbortSignal };

/** @throws TooManyLookups, NoProvider, ProvidersRefused, ProvidersFailed, OperationDisabled, QuotaExceeded */
export async function searchGeo(scope: Scope, { q, limit = 10, language }: SearchQuery) {
  await admit(scope);
  const { places, provider } = await searchPlaces(scope.services, callOf(scope), { text: q.trim(), limit, language });
  return { data: places.map((place) => presentPlace(place, provider)) };
}

/** @throws TooManyLookups, NoProvider, ProvidersRefused, ProvidersFailed, OperationDisabled, QuotaExceeded */
export async function reverseGeo(scope: Scope, { lat, lng, language }: ReverseQuery) {
  await admit(scope);
  const { place, provider } = await findPlaceAt(scope.services, callOf(scope), { lat, lng, language });
  return { data: place === null ? null : presentPlace(place, provider) };
}

async function admit({ actor, services }: Scope): Promise<void> {
  const key = `geo:${actor.tenantId}:${actor.id}`;
  await createLimitedAttempt(services, [{ key, ...limitPerActor }], TooManyLookups).admit();
}

function callOf({ actor, signal }: Scope) {
  return { tenantId: actor.tenantId, caller: { userId: actor.userId, requestId: actor.request.id }, signal };
}

function presentPlace({ name, lat, lng, type, address }: Place, provider: string) {
  return {
    name,
    lat,
    lng,
    type,
    address: {
      street: address.street,
      house_number: address.houseNumber,
      postcode: address.postcode,
      city: address.city,
      region: address.region,
      country: address.country,
      country_code: address.countryCode,
    },
    provider,
  };
}
