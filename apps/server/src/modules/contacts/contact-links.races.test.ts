import { beforeAll, describe, expect, it } from 'vitest';

import { linkableKinds, newLinkable } from '#modules/contacts/testing/linkables';
import { untilBlocked } from '#test/support/database';
import { createTenant, proveAddress, type Tenant } from '#test/support/factories';
import { useService, type Answer } from '#test/support/harness';

const test = useService();
const contacts = '/api/v1/secure/contacts';
const width = 50;

let tenant: Tenant;
let token: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
  // A tenant whose administrator has no verified e-mail address may only invite a few users.
  await proveAddress(test, tenant.admin.email);
});

async function createContact(): Promise<string> {
  const answer = await test.call('POST', contacts, { token, body: {} });
  expect(answer.status).toBe(201);
  return answer.body.data.id;
}

const times = <Result>(count: number, run: (at: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => run(at)));
const statuses = (answers: readonly Answer[]) =>
  [...new Set(answers.map(({ status }) => status))].toSorted((a, b) => a - b);

describe.each(linkableKinds)('contacts of a %s, concurrent requests', (kind) => {
  const collection = `/api/v1/secure/${kind}s`;
  const create = () => newLinkable(test, kind, token);
  const link = (id: string, contactId: string, isPrimary: boolean) =>
    test.call('POST', `${collection}/${id}/contacts`, { token, body: { contactId, isPrimary } });
  const links = async (id: string): Promise<Record<string, any>[]> =>
    (await test.call('GET', `${collection}/${id}/contacts`, { token })).body.data;

  it('links the same contact once', async () => {
    const [recordId, contactId] = [await create(), await createContact()];
    const answers = await times(width, () => link(recordId, contactId, false));
    expect(statuses(answers)).toEqual([201]);
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
    expect(await links(recordId)).toHaveLength(1);
  });

  it('leaves exactly one of many primary contacts primary', async () => {
    const recordId = await create();
    const ids = await times(width, createContact);
    expect(statuses(await times(width, (at) => link(recordId, ids[at]!, true)))).toEqual([201]);
    const rows = await links(recordId);
    expect(rows).toHaveLength(width);
    expect(rows.filter((row) => row.is_primary)).toHaveLength(1);
  });

  it('handles two linked contacts that become primary concurrently', async () => {
    const recordId = await create();
    const ids = [await createContact(), await createContact()];
    for (const id of ids) await link(recordId, id, false);
    expect(statuses(await times(width, (at) => link(recordId, ids[at % 2]!, true)))).toEqual([201]);
    expect((await links(recordId)).filter((row) => row.is_primary)).toHaveLength(1);
  });

  it('links while the link is removed, without a failure', async () => {
    const [recordId, contactId] = [await create(), await createContact()];
    const answers = await times(width * 2, (at) =>
      at % 2 === 0
        ? link(recordId, contactId, at % 4 === 0)
        : test.call('DELETE', `${collection}/${recordId}/contacts/${contactId}`, { token }),
    );
    expect(statuses(answers.filter((_, at) => at % 2 === 0))).toEqual([201]);
    for (const status of statuses(answers)) expect([201, 204, 404]).toContain(status);
  });

  it('links again when the link is deleted concurrently', async () => {
    const [recordId, contactId] = [await create(), await createContact()];
    const before = await link(recordId, contactId, false);
    let answer: Promise<Answer> | undefined;
    await test.service.services.database.tenant(tenant.tenantId).transaction(async (tx) => {
      const values = [tenant.tenantId, before.body.data.id];
      await tx.all({
        kind: 'write',
        text: 'delete from contact_links where tenant_id = $1 and id = $2',
        values,
        prepare: false,
      });
      answer = link(recordId, contactId, true);
      await untilBlocked(tx);
    });
    expect(await answer).toMatchObject({ status: 201, body: { data: { is_primary: true, contact_id: contactId } } });
    expect(await links(recordId)).toHaveLength(1);
  });

  it('links contacts while they are deleted: linked and then unlinked, or not found', async () => {
    const recordId = await create();
    const ids = await times(width, createContact);
    const answers = await times(width * 2, (at) => {
      const id = ids[Math.floor(at / 2)]!;
      return at % 2 === 0 ? link(recordId, id, true) : test.call('DELETE', `${contacts}/${id}`, { token });
    });
    for (const status of statuses(answers)) expect([200, 201, 404]).toContain(status);
    expect(await links(recordId)).toEqual([]);
  });

  it('links to a record while it is deleted: linked and then unlinked, or not found', async () => {
    const contactId = await createContact();
    // Deletions of users are serialised; fifty of them can exceed the lock timeout.
    const records = 20;
    const ids = await times(records, create);
    const answers = await times(records * 2, (at) => {
      const id = ids[Math.floor(at / 2)]!;
      return at % 2 === 0 ? link(id, contactId, true) : test.call('DELETE', `${collection}/${id}`, { token });
    });
    for (const status of statuses(answers)) expect([201, 204, 404]).toContain(status);
    expect((await test.call('GET', `${contacts}/${contactId}/references`, { token })).body.data).toEqual([]);
  });
});
