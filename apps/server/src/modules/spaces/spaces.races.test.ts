import { beforeAll, describe, expect, it } from 'vitest';

import { untilBlocked } from '#test/support/database';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();
const path = '/api/v1/secure/spaces';
let tenant: Tenant;
let token: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
});

const create = (parentId: string | null = null) =>
  test.call('POST', path, { token, body: { name: 'Room', parent_id: parentId } });
const createId = async (parentId: string | null = null): Promise<string> => (await create(parentId)).body.data.id;
const move = (id: string, parentId: string) =>
  test.call('PATCH', `${path}/${id}`, { token, body: { parent_id: parentId } });
const remove = (id: string) => test.call('DELETE', `${path}/${id}`, { token });
const parentOf = async (id: string): Promise<string | null> =>
  (await test.call('GET', `${path}/${id}`, { token })).body.data.parent_id;

/** Walks up to the root; with a cycle it would not end. */
async function expectTop(id: string, within: number): Promise<void> {
  let at: string | null = id;
  for (let steps = 0; at !== null; steps++) {
    expect(steps, 'steps on the way up').toBeLessThanOrEqual(within);
    at = await parentOf(at);
  }
}

const statusesOf = (answers: readonly { status: number }[]) =>
  answers.map(({ status }) => status).toSorted((a, b) => a - b);

describe('concurrent moves', () => {
  it('never form a cycle: of two opposite moves exactly one succeeds', async () => {
    for (let round = 0; round < 50; round++) {
      const [a, b] = [await createId(), await createId()];
      expect(statusesOf(await Promise.all([move(a, b), move(b, a)]))).toEqual([200, 409]);
      await expectTop(a, 2);
      await expectTop(b, 2);
    }
  });

  it('never form a long cycle', async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, () => createId()));
    const answers = await Promise.all(ids.map((id, at) => move(id, ids[(at + 1) % ids.length]!)));
    expect(statusesOf(answers)).toEqual([...Array.from({ length: 11 }, () => 200), 409]);
    for (const id of ids) await expectTop(id, 12);
  });
});

describe('concurrent deletions', () => {
  it('leave no orphan while a child is being added', async () => {
    for (let round = 0; round < 50; round++) {
      const parent = await createId();
      const [created, deleted] = await Promise.all([create(parent), remove(parent)]);
      expect([
        [201, 409],
        [404, 204],
      ]).toContainEqual([created.status, deleted.status]);
      if (created.status === 201) expect(await parentOf(created.body.data.id)).toBe(parent);
    }
    await expectNoOrphans();
  });

  it('leave no orphan while a child is being moved in', async () => {
    for (let round = 0; round < 50; round++) {
      const [parent, part] = [await createId(), await createId()];
      const [moved, deleted] = await Promise.all([move(part, parent), remove(parent)]);
      expect([
        [200, 409],
        [404, 204],
      ]).toContainEqual([moved.status, deleted.status]);
    }
    await expectNoOrphans();
  });

  it('delay only the requests that wait for them', async () => {
    const parent = await createId();
    const db = test.service.services.database.tenant(tenant.tenantId);
    let created: ReturnType<typeof create>[] = [];
    await db.transaction(async (tx) => {
      const values = [tenant.tenantId, parent];
      await tx.all({
        kind: 'write',
        text: 'delete from spaces where tenant_id = $1 and id = $2',
        values,
        prepare: false,
      });
      created = [create(parent), create(parent)];
      await untilBlocked(tx, 2);
      expect((await test.call('GET', path, { token })).status).toBe(200);
    });
    expect(statusesOf(await Promise.all(created))).toEqual([404, 404]);
  });

  it('delete once, for 50 requests', async () => {
    const id = await createId();
    const answers = await Promise.all(Array.from({ length: 50 }, () => remove(id)));
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(49);
  });
});

async function expectNoOrphans(): Promise<void> {
  const orphans = await test.service.services.database.tenant(tenant.tenantId).all({
    kind: 'read',
    text: `select id from spaces child where parent_id is not null
      and not exists (select 1 from spaces parent where parent.id = child.parent_id)`,
    values: [],
    prepare: false,
  });
  expect(orphans).toEqual([]);
}
