import { newId } from '#core/base/crypto/ids';
import type { Route } from '#core/http/route';
import { createMember, createTenant, logInSystemAdmin } from '#test/support/factories';
import type { TestService } from '#test/support/harness';
import { urlOf } from '#test/support/registry';
import { createRecords, idPlaces, sampleContext, type Ids, type OwnRecords } from '#test/support/samples';

export type Everything = { own: OwnRecords; ids: Ids; systemAdmin: string };

/** A tenant with one record of each kind; the user is not the administrator, who makes the requests. */
export async function createEverything(test: TestService): Promise<Everything> {
  const tenant = await createTenant(test);
  const systemAdmin = (await logInSystemAdmin(test)).token;
  const ids = await createRecords(sampleContext(test, tenant), 'sample');
  const { userId: user } = await createMember(test, tenant);
  return { own: ownRecords(tenant, ids), ids: { ...ids, user }, systemAdmin };
}

export function ownRecords(tenant: OwnRecords['tenant'], ids: Ids): OwnRecords {
  return { tenant, spaceId: ids.space!, contactId: ids.contact!, flowTaskId: ids.flowTask! };
}

/** What of these records stands at a place of a request, such as `getSpace params.id`. */
export function valueAt(place: string, ids: Ids): string | undefined {
  return ids[idPlaces[place] ?? place];
}

/** The route's path with ids of records that exist. */
export function urlOfRecords(route: Route, ids: Ids): string {
  return urlOf(route, (name) => valueAt(`${route.operationId} params.${name}`, ids) ?? newId());
}
