import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

import { modules } from '#app/modules';
import type { Module } from '#core/http/route';
import { create, type Collection } from '#test/support/directory';
import type { Tenant } from '#test/support/factories';
import type { TestService } from '#test/support/harness';

export type Body = Record<string, unknown>;

/** What a body may refer to; the records belong to the tenant that sends it. */
export type OwnRecords = { tenant: Tenant; spaceId: string; contactId: string; flowTaskId: string };

/** What samples are made with: a service, and a tenant whose administrator calls it. */
export type SampleContext = {
  test: TestService;
  tenant: Tenant;
  /** Creates a record by a POST that answers 201, and returns its id. */
  create(url: string, body?: unknown): Promise<string>;
  /** Creates a record of the collection with the required fields, and returns its id. */
  made(collection: Collection, body?: object): Promise<string>;
  /** The arguments of a tool that takes the id of a new record of the collection. */
  of(collection: Collection): () => Promise<Body>;
};

/** A request that succeeds, and what its audit event says; without `resourceId`, the id in the answer. */
export type Success = {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  body?: unknown;
  type?: string;
  status: number;
  resourceType: string;
  resourceId?: string | null;
  fields?: string[];
};
export type Successes = Record<string, () => Promise<Success>>;

/** Ids by what they are of, such as `space`; what else stands in a path, by its place, such as `getOperation params.operationKey`. */
export type Ids = Record<string, string>;

/** `testing/samples.ts` of a module: what the suites over all operations and tables need to know about it. Keys are operations. */
export type Samples = {
  /** A complete, valid body, with all of its properties, of each operation that takes one. */
  bodies?: Record<string, (own: OwnRecords) => Body>;
  /** What each id in a request is of, by its place: `getSpace params.id`. */
  ids?: Record<string, string>;
  /** What a query has to contain besides an id, or nothing is looked up. */
  queries?: Record<string, string>;
  /**
   * Creates a row in each table of the module, linked to the records of the modules above it in `modules.ts`, with
   * `secret` in its texts. Returns the ids that `ids` names.
   */
  records?: (context: SampleContext & { ids: Ids; secret: string }) => Promise<Ids>;
  /** Valid arguments of each operation that is a tool; each call creates new records, so that tools may delete them. */
  tools?: (context: SampleContext) => Record<string, () => Promise<Body>>;
  /** A successful call of each operation that is recorded in the audit trail, with `canary` in what must not be recorded. */
  successes?: (context: SampleContext) => Successes;
};

const fileOf = (name: string) => `apps/server/src/modules/${name}/testing/samples.ts`;

const byModule = new Map<string, Samples>();
for (const { name } of modules) {
  const url = new URL(`../../src/modules/${name}/testing/samples.ts`, import.meta.url);
  if (existsSync(url)) byModule.set(name, ((await import(fileURLToPath(url))) as { samples: Samples }).samples);
}

function all<Row>(part: (samples: Samples) => Record<string, Row> | undefined): Record<string, Row> {
  return Object.assign({}, ...[...byModule.values()].map(part)) as Record<string, Row>;
}

export const validBodies = all((samples) => samples.bodies);
export const idPlaces = all((samples) => samples.ids);
export const queries = all((samples) => samples.queries);

export function sampleContext(test: TestService, tenant: Tenant): SampleContext {
  const { token } = tenant.admin;
  const made: SampleContext['made'] = async (collection, body) =>
    (await create(test, { token }, collection, body)).id as string;
  return {
    test,
    tenant,
    made,
    of: (collection) => async () => ({ id: await made(collection) }),
    create: async (url, body = {}) => {
      const answer = await test.call('POST', url, { token, body });
      expect({ url, ...answer }).toMatchObject({ url, status: 201 });
      return answer.body.data.id as string;
    },
  };
}

export const sampleTools = (context: SampleContext) => all((samples) => samples.tools?.(context));
export const sampleSuccesses = (context: SampleContext) => all((samples) => samples.successes?.(context));

/** A record of each kind, made by the modules in the order of their list. */
export async function createRecords(context: SampleContext, secret: string): Promise<Ids> {
  const ids: Ids = {};
  for (const { records } of byModule.values()) Object.assign(ids, await records?.({ ...context, ids, secret }));
  return ids;
}

/**
 * What the samples of the modules lack, and what they have too much, as sentences that name the file.
 * @param rows the keys that are there, from all modules
 * @param expected the keys that have to be there: operations, or places of operations (`getSpace params.id`)
 */
export function missingSamples(
  part: keyof Samples,
  rows: readonly string[],
  expected: readonly string[],
  owners: readonly Pick<Module, 'name' | 'routes'>[] = modules,
): string[] {
  const fileFor = (key: string) => {
    const owner = owners.find(({ routes }) => routes.some(({ operationId }) => operationId === key.split(' ')[0]));
    return fileOf(owner?.name ?? '<module>');
  };
  const [there, wanted] = [new Set(rows), new Set(expected)];
  return [
    ...expected.filter((key) => !there.has(key)).map((key) => `${fileFor(key)}: '${part}' lacks '${key}'`),
    ...rows.filter((key) => !wanted.has(key)).map((key) => `${fileFor(key)}: nothing needs '${key}' in '${part}'`),
  ];
}
