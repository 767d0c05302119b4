import { beforeAll, expect, it } from 'vitest';

import {
  adminPath,
  complete,
  evidenceOf,
  idsPending,
  newTask,
  reportOf,
  skip,
} from '#modules/flow-tasks/testing/tasks';
import { race, trailOf } from '#test/support/directory';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { useService, type Answer, type Call } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
let admin: Call;
let people: Person[];

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  people = await Promise.all(Array.from({ length: 10 }, () => createMember(test, tenant)));
});

const reset = (id: string) => test.call('POST', `${adminPath}/${id}/reset`, admin);

it('fifty concurrent completions record one, and all return it', async () => {
  for (let round = 0; round < 10; round++) {
    const { id } = await newTask(test, admin, { version: round % 2 === 0 ? '1' : null });
    const seen = new Set<string>();
    const counts = await race(50, async (at) => {
      const answer = await complete(test, people[0]!, id, { answers: { at } });
      seen.add(JSON.stringify(answer.body));
      return answer;
    });
    expect([counts, seen.size]).toEqual([{ 200: 50 }, 1]);
    expect(await evidenceOf(test, admin, id)).toHaveLength(1);
    expect(await trailOf(test, tenant.tenantId, id)).toHaveLength(2);
  }
});

it('concurrent completions and skips record each outcome at most once', async () => {
  const { id } = await newTask(test, admin);
  const settle = (at: number) => (at % 2 === 0 ? complete : skip)(test, people[0]!, id);
  expect(await race(50, settle)).toEqual({ 200: 50 });
  const outcomes = (await evidenceOf(test, admin, id)).map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => outcome === 'completed')).toHaveLength(1);
  expect(outcomes.filter((outcome) => outcome === 'skipped').length).toBeLessThan(2);
});

it('of fifty concurrent reorderings, one complete order remains', async () => {
  const { admin: owner } = await createTenant(test);
  const ids = await Promise.all(Array.from({ length: 8 }, async () => (await newTask(test, owner)).id as string));
  const rotated = (by: number) => [...ids.slice(by % 8), ...ids.slice(0, by % 8)];
  // Every second order is reversed, so that rows are locked in opposite orders.
  const orders = Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? rotated(at) : rotated(at).toReversed()));
  const counts = await race(50, (at) =>
    test.call('PATCH', `${adminPath}/reorder`, { token: owner.token, body: { taskIds: orders[at] } }),
  );
  expect(counts).toEqual({ 200: 50 });
  const { data } = (await test.call('GET', adminPath, { token: owner.token })).body;
  expect(orders).toContainEqual(data.map(({ id }: { id: string }) => id));
  expect(data.map(({ priority }: { priority: number }) => priority)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

it('concurrent resets and completions: each completion counts before or after a reset', async () => {
  for (let round = 0; round < 10; round++) {
    const { id } = await newTask(test, admin, { version: '1' });
    const isReset = (at: number) => at === 20 || at === 35;
    const resets: Answer[] = [];
    const counts = await race(50, async (at) => {
      if (!isReset(at)) return complete(test, people[at % 10]!, id);
      const answer = await reset(id);
      resets.push(answer);
      return answer;
    });
    expect(counts).toEqual({ 200: 50 });
    const last = (await reset(id)).body.resetCount as number;
    const counted = resets.reduce((sum, { body }) => sum + (body.resetCount as number), last);
    // Each row counts for exactly one reset.
    expect(counted).toBe((await evidenceOf(test, admin, id)).length);
    expect(counted).toBeGreaterThanOrEqual(10);
  }
});

it('a task that becomes mandatory during skips: open for all users, and closed again for skips once it is optional', async () => {
  for (let round = 0; round < 5; round++) {
    const { id } = await newTask(test, admin);
    const set = (isMandatory: boolean) => test.call('PATCH', `${adminPath}/${id}`, { ...admin, body: { isMandatory } });
    const skipped = new Set<string>();
    const isUnderWay = Promise.withResolvers<void>();
    const counts = await race(50, async (at) => {
      if (at === 25) return isUnderWay.promise.then(() => set(true));
      const by = people[at % 10]!;
      const answer = await skip(test, by, id);
      isUnderWay.resolve();
      if (answer.status === 200) skipped.add(by.userId);
      return answer;
    });
    expect(Object.keys(counts).filter((status) => !['200', '422'].includes(status))).toEqual([]);
    expect(skipped.size).toBeGreaterThan(0);
    expect(await reportOf(test, admin, id)).toEqual({ open: 11, completed: 0, skipped: 0 });
    for (const by of people) expect(await idsPending(test, by)).toContain(id);
    expect((await skip(test, people[0]!, id)).status).toBe(422);
    const evidence = await evidenceOf(test, admin, id);
    expect(evidence.map(({ userId }) => userId as string).toSorted()).toEqual([...skipped].toSorted());
    await set(false);
    expect(await reportOf(test, admin, id)).toEqual({ open: 11 - skipped.size, completed: 0, skipped: skipped.size });
    for (const by of people) expect((await idsPending(test, by)).includes(id)).toBe(!skipped.has(by.userId));
    expect((await test.call('POST', `${adminPath}/${id}/reset`, admin)).body.resetCount).toBe(0);
    await test.call('DELETE', `${adminPath}/${id}`, admin);
  }
});

it('a deletion during completions: each 200 has evidence, all other answers are 404', async () => {
  const { id } = await newTask(test, admin);
  const done = new Set<string>();
  const isUnderWay = Promise.withResolvers<void>();
  const remove = async () => {
    await isUnderWay.promise;
    return test.call('DELETE', `${adminPath}/${id}`, admin);
  };
  const counts = await race(50, async (at) => {
    if (at === 25) return remove();
    const answer = await complete(test, people[at % 10]!, id);
    isUnderWay.resolve();
    if (answer.status === 200) done.add(answer.body.data.id);
    return answer;
  });
  expect(Object.keys(counts).filter((status) => !['200', '204', '404'].includes(status))).toEqual([]);
  expect(counts[204]).toBe(1);
  expect(done.size).toBeGreaterThan(0);
  expect((await evidenceOf(test, admin, id)).map((row) => row.id as string).toSorted()).toEqual([...done].toSorted());
  expect(await idsPending(test, people[0]!)).not.toContain(id);
});
