import { expect, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { path } from '#modules/translation/testing/tenants';
import type { Tenant } from '#test/support/factories';
import type { Answer, Call, TestService } from '#test/support/harness';

type Row = Record<string, any>;

/** The calls of these tests, by default as the administrator of the tenant. */
export function stepsOf(test: TestService, tenant: Tenant) {
  const admin: Call = { token: tenant.admin.token };
  const { tenantId } = tenant;
  const ask = (text: string, values: unknown[]) =>
    test.service.services.database
      .tenant(tenantId)
      .interactive.all<Row>({ kind: 'write', text, values, prepare: false });

  return {
    admin,
    translate: (body: object, by = admin): Promise<Answer> => test.call('POST', `${path}/entity-type`, { ...by, body }),
    jobs: (query = '', by = admin) => test.call('GET', `${path}/jobs${query}`, by),
    job: (id: string, by = admin) => test.call('GET', `${path}/jobs/${id}`, by),
    cancel: (id: string, by = admin) => test.call('POST', `${path}/jobs/${id}/cancel`, by),
    resume: (id: string, by = admin) => test.call('POST', `${path}/jobs/${id}/resume`, by),

    /** Creates `count` tags named `<stem> <number>`. @returns their ids in order */
    async createTags(count: number, stem = 'Tag'): Promise<string[]> {
      const ids = Array.from({ length: count }, newId);
      const names = ids.map((_, at) => `${stem} ${at}`);
      await ask(
        `insert into tags (tenant_id, id, name, name_key, created_at, updated_at)
         select $1, id, name, lower(name), now(), now() from unnest($2::uuid[], $3::text[]) as t (id, name)`,
        [tenantId, ids, names],
      );
      return ids;
    },

    /** Names of tags in a language, by id. */
    async namesIn(language: string): Promise<(string | undefined)[]> {
      const text = `select translations_i18n -> $2 ->> 'name' as name from tags where tenant_id = $1 order by id`;
      return (await ask(text, [tenantId, language])).map(({ name }) => name as string | undefined);
    },

    async untilEnded(id: string): Promise<Row> {
      return vi.waitFor(
        async () => {
          const { data } = (await test.call('GET', `${path}/jobs/${id}`, admin)).body;
          expect(data.status).not.toBe('running');
          return data as Row;
        },
        { timeout: 30_000, interval: 50 },
      );
    },

    /** Puts a job into the state after its process was killed: claimed, with an expired lease. */
    leaveBehind: (id: string) =>
      ask(
        `update translation_jobs set claim = $3, lease_until = now() - interval '1 s' where tenant_id = $1 and id = $2`,
        [tenantId, id, newId()],
      ),
  };
}

/** The id of the job in the Location header. */
export function jobIn({ headers }: Answer): string {
  expect(headers['location']).toMatch(new RegExp(`^${path}/jobs/[0-9a-f-]{36}$`));
  return headers['location']!.split('/').at(-1)!;
}

/** A door that is shut until it is opened. */
export function door() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}
