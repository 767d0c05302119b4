import { beforeAll, describe, expect, it } from 'vitest';

import { createClock } from '#modules/auth/testing/steps';
import { createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

// The clock advances with each read, so that no two records have the same millisecond.
const test = useService({ now: createClock().now });
const path = '/api/v1/secure/contacts';

async function createContact(tenant: Tenant, body: Record<string, unknown>): Promise<Record<string, any>> {
  const answer = await test.call('POST', path, { token: tenant.admin.token, body });
  expect(answer.status).toBe(201);
  return answer.body.data;
}

function list(tenant: Tenant, query: Record<string, string> | string = {}): Promise<Answer> {
  const text = new URLSearchParams(query).toString();
  return test.call('GET', text === '' ? path : `${path}?${text}`, { token: tenant.admin.token });
}

async function firstNames(tenant: Tenant, query: Record<string, string>): Promise<(string | null)[]> {
  const answer = await list(tenant, query);
  expect(answer.status).toBe(200);
  expect(answer.body.pagination.total).toBe(answer.body.data.length);
  return answer.body.data.map((contact: Record<string, any>) => contact.first_name);
}

describe('listContacts: pages', () => {
  let tenant: Tenant;
  let ids: string[];

  beforeAll(async () => {
    tenant = await createTenant(test);
    ids = [];
    for (let number = 0; number < 5; number++) ids.unshift((await createContact(tenant, {})).id);
  });

  it('200: newest first, 50 by default', async () => {
    const { status, body } = await list(tenant);
    expect(status).toBe(200);
    expect(body.data.map((contact: Record<string, any>) => contact.id)).toEqual(ids);
    expect(body.pagination).toEqual({ total: 5, limit: 50, offset: 0, hasMore: false });
  });

  it.each([
    ['the first page', { limit: '2' }, [0, 1], true],
    ['one in the middle', { limit: '2', offset: '2' }, [2, 3], true],
    ['the last, which is not full', { limit: '2', offset: '4' }, [4], false],
    ['the last, which is full', { limit: '2', offset: '3' }, [3, 4], false],
    ['exactly all', { limit: '5' }, [0, 1, 2, 3, 4], false],
    ['nothing beyond the end', { limit: '2', offset: '5' }, [], false],
    ['nothing far beyond the end', { offset: '1000000000' }, [], false],
  ])('200: %s', async (_what, query: Record<string, string>, at, hasMore) => {
    const { body, headers } = await list(tenant, query);
    expect(body.data.map((contact: Record<string, any>) => contact.id)).toEqual(at.map((index) => ids[index]));
    expect(body.pagination).toEqual({
      total: 5,
      limit: Number(query.limit ?? 50),
      offset: Number(query.offset ?? 0),
      hasMore,
    });
    expect(headers['x-total-capped']).toBeUndefined();
  });

  it('200: accepts the bounds, unknown parameters and a trailing slash', async () => {
    for (const query of ['limit=1', 'limit=200', 'offset=0', 'utm_source=mail&__proto__=x&constructor=1']) {
      expect((await list(tenant, query)).status).toBe(200);
    }
    expect((await test.call('GET', `${path}/?limit=1`, { token: tenant.admin.token })).body.data).toHaveLength(1);
  });

  it('200: accepts parameters in both spellings', async () => {
    expect((await list(tenant, 'Limit=1')).body.data).toHaveLength(1);
  });

  it('200: other tenants do not see it', async () => {
    const other = await createTenant(test);
    expect((await list(other)).body).toEqual({
      data: [],
      pagination: { total: 0, limit: 50, offset: 0, hasMore: false },
    });
  });

  it.each([
    'limit=0',
    'limit=201',
    'limit=-1',
    'limit=1.5',
    'limit=abc',
    'limit=',
    'limit=1&limit=2',
    'offset=-1',
    'offset=1000000000000',
    'offset=1000000001',
    'offset=0.5',
    'sort=notes',
    'sort=--email',
    'sort=',
    'sort=email&sort=-email',
    'search=a&search=b',
    'phone=none',
    'search=%00',
  ])('400: %s', async (query) => {
    expectError(await list(tenant, query), 400, 'VALIDATION_ERROR');
  });

  it.each([
    ['search', 200],
    ['email', 254],
    ['phone', 50],
    ['city', 200],
  ])('400: %s of more than %i characters', async (name, length) => {
    expect((await list(tenant, { [name]: '1'.repeat(length) })).status).toBe(200);
    expectError(await list(tenant, { [name]: '1'.repeat(length + 1) }), 400, 'VALIDATION_ERROR');
  });

  it('401: no credentials', async () => {
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
  });
});

describe('listContacts: search and filters', () => {
  let tenant: Tenant;

  beforeAll(async () => {
    tenant = await createTenant(test);
    const address = (city: string) => ({ city });
    await createContact(tenant, {
      firstName: 'Ada',
      middleName: 'King',
      lastName: 'Lovelace',
      email: 'Ada.L@Example.com',
      phone: '+44 (20) 7946-0958',
      address: address('London'),
      notes: 'unsearchable',
    });
    await createContact(tenant, {
      firstName: 'Alan',
      lastName: 'Turing',
      email: 'alan@example.com',
      phone: '020 7946',
      address: address('New London'),
    });
    await createContact(tenant, { firstName: 'Élodie', lastName: 'Grüßner', address: address('SÃO PAULO') });
    await createContact(tenant, { firstName: '100%', lastName: 'a_b', email: 'percent@example.com' });
    await createContact(tenant, { firstName: '100x', lastName: 'acb', phone: 'C:\\dir' });
    await createContact(tenant, { firstName: 'Odos', address: address('ΟΔΌΣ 50%_\\') });
    await createContact(tenant, { firstName: 'Noname' });
  });

  it.each([
    ['a word in any case', 'LOVELACE', ['Ada']],
    ['part of a word', 'velac', ['Ada']],
    ['the middle name', 'king', ['Ada']],
    ['several words over several fields, in any order', 'london 7946 ada', ['Ada']],
    ['words of which one does not match', 'ada turing', []],
    ['the e-mail address', 'ada.l@example', ['Ada']],
    ['the phone number as written', '(20)', ['Ada']],
    ['the city', 'new', ['Alan']],
    ['letters beyond ASCII', 'élodie grüßner', ['Élodie']],
    ['a percent sign, literally', '100%', ['100%']],
    ['an underscore, literally', 'a_b', ['100%']],
    ['a backslash, literally', 'c:\\d', ['100x']],
    ['a quote', "o'", []],
    ['notes, which are not searched', 'unsearchable', []],
    ['only blanks: all contacts', '   ', ['Noname', 'Odos', '100x', '100%', 'Élodie', 'Alan', 'Ada']],
  ])('200: search for %s', async (_what, search, found) => {
    expect(await firstNames(tenant, { search })).toEqual(found);
  });

  it.each([
    ['email, in any case', { email: 'ADA.L@example.COM' }, ['Ada']],
    ['email, exact', { email: 'ada.l@example.co' }, []],
    ['email, no pattern', { email: '%@example.com' }, []],
    ['phone, by its digits', { phone: '44 20 79460958' }, ['Ada']],
    ['phone, exact', { phone: '0207946' }, ['Alan']],
    ['city, in any case', { city: 'lonDON' }, ['Ada']],
    ['city of two words', { city: 'new london' }, ['Alan']],
    ['city, words in another order', { city: 'london new' }, []],
    ['city beyond ASCII', { city: 'são paulo' }, ['Élodie']],
    ['city with a final sigma and every metacharacter', { city: 'ΟδΌΣ 50%_\\' }, ['Odos']],
    ['city, no pattern', { city: 'ΟΔΌΣ%' }, []],
    ['an empty value', { city: '' }, []],
    ['all at once', { search: 'ada', email: 'ada.l@example.com', phone: '+442079460958', city: 'London' }, ['Ada']],
    ['all at once, one of them wrong', { search: 'ada', email: 'ada.l@example.com', city: 'Paris' }, []],
  ])('200: filter by %s', async (_what, query: Record<string, string>, found) => {
    expect(await firstNames(tenant, query)).toEqual(found);
  });

  it('200: the total counts the matches', async () => {
    const { body } = await list(tenant, { search: 'example.com', limit: '1' });
    expect(body.pagination).toEqual({ total: 3, limit: 1, offset: 0, hasMore: true });
  });
});

describe('listContacts: sort', () => {
  let tenant: Tenant;

  // Created in this order; the second contact is changed last.
  beforeAll(async () => {
    tenant = await createTenant(test);
    await createContact(tenant, { firstName: 'b', lastName: 'Zulu', email: 'm@example.com' });
    const second = await createContact(tenant, { firstName: 'A', lastName: 'alpha', email: 'Z@example.com' });
    await createContact(tenant, { firstName: 'c', lastName: 'Mike', email: 'a@example.com' });
    await createContact(tenant, { notes: 'without a name' });
    const patch = { token: tenant.admin.token, body: { notes: 'changed' } };
    expect((await test.call('PATCH', `${path}/${second.id}`, patch)).status).toBe(200);
  });

  it.each([
    ['created_at', ['b', 'A', 'c', null]],
    ['-created_at', [null, 'c', 'A', 'b']],
    ['updated_at', ['b', 'c', null, 'A']],
    ['-updated_at', ['A', null, 'c', 'b']],
    ['first_name', ['A', 'b', 'c', null]],
    ['-first_name', ['c', 'b', 'A', null]],
    ['last_name', ['A', 'c', 'b', null]],
    ['-last_name', ['b', 'c', 'A', null]],
    ['email', ['c', 'b', 'A', null]],
    ['-email', ['A', 'b', 'c', null]],
  ])('200: by %s', async (sort, expected) => {
    expect(await firstNames(tenant, { sort })).toEqual(expected);
  });

  it('200: pages neither repeat nor skip contacts', async () => {
    const seen: unknown[] = [];
    for (let offset = 0; offset < 4; offset++) {
      const { body } = await list(tenant, { sort: 'last_name', limit: '1', offset: String(offset) });
      seen.push(body.data[0].first_name);
    }
    expect(seen).toEqual(['A', 'c', 'b', null]);
  });
});

describe('listContacts: more than 10,000', () => {
  let tenant: Tenant;
  const count = 10_205;

  beforeAll(async () => {
    tenant = await createTenant(test);
    const { tenantId } = tenant;
    await test.service.services.database.tenant(tenantId).interactive.batch([
      {
        kind: 'write',
        text: `insert into contacts (tenant_id, id, first_name, created_at, updated_at)
          select $1, gen_random_uuid(), 'Number ' || n, now(), now() from generate_series(1, $2::integer) n`,
        values: [tenantId, count],
        prepare: false,
      },
      {
        kind: 'write',
        text: `insert into row_counts (tenant_id, table_name, slot, amount) values ($1, 'contacts', 0, $2)`,
        values: [tenantId, count],
        prepare: false,
      },
    ]);
  });

  it('200: counts matches up to 10,001, and reports the capped total', async () => {
    const { body, headers } = await list(tenant, { search: 'number' });
    expect(body.pagination).toEqual({ total: 10_001, limit: 50, offset: 0, hasMore: true });
    expect(headers['x-total-capped']).toBe('true');
  });

  it('200: without filters, a large total is exact', async () => {
    const { body, headers } = await list(tenant, {});
    expect(body.pagination).toEqual({ total: count, limit: 50, offset: 0, hasMore: true });
    expect(headers['x-total-capped']).toBeUndefined();
  });

  it('200: an exact total has no header for capped totals', async () => {
    const { body, headers } = await list(tenant, { search: 'number 1020', limit: '3' });
    expect(body.pagination).toEqual({ total: 7, limit: 3, offset: 0, hasMore: true });
    expect(headers['x-total-capped']).toBeUndefined();
  });

  it.each([{}, { search: 'number' }])('200: following hasMore reaches the last contact: %o', async (filter) => {
    const offsets = [10_000, 10_200];
    const pages = await Promise.all(
      offsets.map((offset) => list(tenant, { ...filter, limit: '200', offset: String(offset) })),
    );
    expect(pages.map(({ body }) => [body.data.length, body.pagination.hasMore])).toEqual([
      [200, true],
      [5, false],
    ]);
    // The total of the last page is exact, so it leads to the same count.
    const [total, exact] = pages.map(({ body }) => body.pagination.total);
    expect([total > 10_200, exact]).toEqual([true, count]);
  });
});
