import { beforeAll, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { inboxPath, tell } from '#modules/notifications/testing/inbox';
import { newDefault } from '#modules/notifications/testing/preferences';
import { appOf, keyOf, race } from '#test/support/directory';
import { createMember, createTenant, logInSystemAdmin, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

type Data = Record<string, any>;

const test = useService();
let tenant: Tenant;
let stranger: Tenant;
let machines: Call[];

beforeAll(async () => {
  tenant = await createTenant(test);
  // Prevents security notifications, such as about a login.
  await newDefault(test, tenant.admin, { category: '*', channel: 'in_app', enabled: false });
  stranger = await createTenant(test);
  const flags = { users: { read: true } };
  machines = [await keyOf(test, tenant, flags), await appOf(test, tenant, flags)];
});

const list = (by: Call, query = '') => test.call('GET', `${inboxPath}${query}`, by);
const read = (by: Call, id: string) => test.call('POST', `${inboxPath}/${id}/read`, by);
const unread = (by: Call, id: string) => test.call('POST', `${inboxPath}/${id}/unread`, by);
const dismiss = (by: Call, id: string) => test.call('DELETE', `${inboxPath}/${id}`, by);
const readAll = (by: Call, body?: unknown) =>
  test.call('POST', `${inboxPath}/read-all`, body === undefined ? by : { ...by, body });

async function someone(): Promise<Person & { tenantId: string }> {
  return { ...(await createMember(test, tenant)), tenantId: tenant.tenantId };
}

const idsOf = async (by: Call, query = '') => (await list(by, query)).body.data.map(({ id }: Data) => id as string);
const countOf = async (by: Call) => {
  const { status, body } = await test.call('GET', `${inboxPath}/unread-count`, by);
  expect(status).toBe(200);
  return body.data.unread as number;
};
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

describe('listNotifications', () => {
  it('200: all fields of a notification, in its language', async () => {
    const by = await someone();
    const inboxAt = ago(1);
    const id = await tell(test, by, {
      category: 'news.office',
      title: 'Closed',
      body: 'On Monday.',
      i18n: { de: { title: 'Geschlossen' }, fr: { title: 'x', body: 'y' } },
      link: '/news',
      data: { number: 1 },
      isCritical: true,
      language: 'de',
      inboxAt,
    });
    const { status, body } = await list(by);
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [
        {
          id,
          category: 'news.office',
          title: 'Geschlossen',
          body: 'On Monday.',
          link: '/news',
          data: { number: 1 },
          isCritical: true,
          createdAt: inboxAt,
          readAt: null,
        },
      ],
      pagination: { total: 1, limit: 50, offset: 0, hasMore: false },
    });
  });

  it('200: newest first, in pages, only notifications in the inbox', async () => {
    const by = await someone();
    const ids = [];
    for (const minutes of [3, 1, 2, 2]) ids.push(await tell(test, by, { inboxAt: ago(minutes) }));
    await tell(test, by, { inboxAt: null });
    const [three, one, ...two] = ids as [string, string, string, string];
    const order = [one, ...two.toSorted().toReversed(), three];
    const all = await idsOf(by);
    expect([all[0], all[3]]).toEqual([one, three]);
    expect(all.toSorted()).toEqual(order.toSorted());
    const pages = [];
    for (let offset = 0; offset < 5; offset += 2) pages.push((await list(by, `?limit=2&offset=${offset}`)).body);
    expect(pages.flatMap(({ data }) => data.map(({ id }: Data) => id))).toEqual(all);
    expect(pages.map(({ pagination }) => [pagination.total, pagination.hasMore])).toEqual([
      [4, true],
      [4, false],
      [4, false],
    ]);
  });

  it('200: by read state and by category', async () => {
    const by = await someone();
    const [a, b, c] = [
      await tell(test, by, { category: 'news' }),
      await tell(test, by, { category: 'news.office' }),
      await tell(test, by, { category: 'newsletter.x' }),
    ];
    await read(by, b);
    const found = async (query: string) => (await idsOf(by, query)).toSorted();
    expect(await found('?unread=true')).toEqual([a, c].toSorted());
    expect(await found('?unread=false')).toEqual([b]);
    expect(await found('?category=news')).toEqual([a]);
    expect(await found('?category=news.*')).toEqual([b]);
    expect(await found('?category=news.*&unread=true')).toEqual([]);
    expect(await found('?category=*')).toEqual([a, b, c].toSorted());
    expect(await found('?category=%25')).toEqual([]);
  });

  it('200: those of the home tenant, also while a system administrator acts on another one', async () => {
    const { token, userId } = await logInSystemAdmin(test);
    const there = { token, headers: { 'x-tenant-id': tenant.tenantId } };
    const category = `at-home-${newId()}`;
    await tell(test, { tenantId: tenant.tenantId, userId }, { category });
    const id = await tell(test, { tenantId: systemTenantId, userId }, { category });
    expect(await idsOf(there, `?category=${category}`)).toEqual([id]);
    expect((await read(there, id)).status).toBe(200);
  });

  it('400: a page that is too large, an invalid boolean, an empty category', async () => {
    const by = tenant.admin;
    for (const query of ['?limit=201', '?limit=0', '?offset=-1', '?unread=perhaps', '?category=']) {
      expectError(await list(by, query), 400, 'VALIDATION_ERROR');
    }
  });
});

describe('getUnreadNotificationCount', () => {
  it('200: exact with read, dismissed and delayed notifications', async () => {
    const by = await someone();
    const ids = [await tell(test, by), await tell(test, by), await tell(test, by), await tell(test, by)];
    await tell(test, by, { inboxAt: null });
    expect(await countOf(by)).toBe(4);
    await read(by, ids[0]!);
    await dismiss(by, ids[1]!);
    expect(await countOf(by)).toBe(2);
    await unread(by, ids[0]!);
    expect(await countOf(by)).toBe(3);
  });
});

describe('readNotification, unreadNotification', () => {
  it('200: is marked as read once, until it is unread again', async () => {
    const by = await someone();
    const id = await tell(test, by, { title: 'Hello' });
    const first = await read(by, id);
    expect(first).toMatchObject({ status: 200, body: { data: { id, title: 'Hello', readAt: expect.any(String) } } });
    expect((await read(by, id)).body).toEqual(first.body);
    expect((await list(by)).body.data).toEqual([first.body.data]);
    expect((await unread(by, id)).body.data).toEqual({ ...first.body.data, readAt: null });
    expect((await unread(by, id)).body.data.readAt).toBeNull();
  });

  it('200: 50 concurrent requests have one effect', async () => {
    const by = await someone();
    const id = await tell(test, by);
    const times = new Set<string>();
    const counts = await race(50, async () => {
      const answer = await read(by, id);
      times.add(answer.body.data.readAt);
      return answer;
    });
    expect([counts, times.size]).toEqual([{ 200: 50 }, 1]);
  });
});

describe('dismissNotification', () => {
  it('204 once, then 404 for every operation', async () => {
    const by = await someone();
    const id = await tell(test, by);
    const counts = await race(50, () => dismiss(by, id));
    expect(counts).toEqual({ 204: 1, 404: 49 });
    for (const one of [read, unread, dismiss]) expectError(await one(by, id), 404, 'NOT_FOUND');
    expect(await idsOf(by)).toEqual([]);
  });
});

describe('readAllNotifications', () => {
  it('200: all, or those that arrived before a time', async () => {
    const by = await someone();
    const [old, seen, late] = [
      await tell(test, by, { inboxAt: ago(10) }),
      await tell(test, by, { inboxAt: ago(5) }),
      await tell(test, by, { inboxAt: ago(1) }),
    ];
    const before = (await list(by)).body.data.find(({ id }: Data) => id === seen).createdAt;
    expect(await readAll(by, { before: ago(20) })).toMatchObject({ status: 200, body: { data: { read: 0 } } });
    expect((await readAll(by, { before: before.toLowerCase() })).body).toEqual({ data: { read: 2 } });
    expect(await idsOf(by, '?unread=true')).toEqual([late]);
    expect((await readAll(by)).body).toEqual({ data: { read: 1 } });
    expect((await readAll(by, {})).body).toEqual({ data: { read: 0 } });
    expect((await idsOf(by, '?unread=false')).toSorted()).toEqual([old, seen, late].toSorted());
  });

  it("200: only the caller's, without dismissed and delayed ones", async () => {
    const [by, other] = [await someone(), await someone()];
    const others = await tell(test, other);
    const gone = await tell(test, by);
    await dismiss(by, gone);
    await tell(test, by, { inboxAt: null });
    expect((await readAll(by)).body.data.read).toBe(0);
    expect(await idsOf(other, '?unread=true')).toEqual([others]);
  });

  it('200: 50 concurrent requests count each notification once', async () => {
    const by = await someone();
    for (let count = 0; count < 20; count++) await tell(test, by);
    let sum = 0;
    const counts = await race(50, async (at) => {
      const answer = await readAll(by, at % 2 === 0 ? {} : { before: new Date().toISOString() });
      sum += answer.body.data.read;
      return answer;
    });
    expect([counts, sum, await countOf(by)]).toEqual([{ 200: 50 }, 20, 0]);
  });

  it('400: an invalid time, an unknown field', async () => {
    for (const body of [{ before: 'now' }, { before: null }, { after: ago(1) }, []]) {
      expectError(await readAll(tenant.admin, body), 400, 'VALIDATION_ERROR');
    }
  });
});

describe('all operations', () => {
  it('404: of another user, of another tenant, not in the inbox, with the same answer as an unknown one', async () => {
    const by = await someone();
    const { tenantId } = stranger;
    const ids = [
      newId(),
      await tell(test, by, { inboxAt: null }),
      await tell(test, await someone()),
      await tell(test, { tenantId, userId: stranger.admin.userId }),
      await tell(test, { tenantId, userId: by.userId }),
    ];
    for (const one of [read, unread, dismiss]) {
      for (const id of ids) {
        const answer = await one(by, id);
        expectError(answer, 404, 'NOT_FOUND');
        expect(answer.body.message).toBe((await one(by, newId())).body.message);
      }
    }
    // An administrator has no more to do with them.
    expectError(await read(tenant.admin, ids[2]!), 404, 'NOT_FOUND');
  });

  it('400, 401, 403: not a UUID, without credentials, API keys and app accounts', async () => {
    for (const one of [read, unread, dismiss]) {
      expectError(await one(tenant.admin, 'x'), 400, 'VALIDATION_ERROR');
      expectError(await one({}, newId()), 401, 'AUTHENTICATION_ERROR');
      for (const machine of machines) expectError(await one(machine, newId()), 403, 'AUTHORIZATION_ERROR');
    }
    const others = [list, readAll, (by: Call) => test.call('GET', `${inboxPath}/unread-count`, by)];
    for (const one of others) {
      expectError(await one({}), 401, 'AUTHENTICATION_ERROR');
      for (const machine of machines) expectError(await one(machine), 403, 'AUTHORIZATION_ERROR');
    }
  });
});
