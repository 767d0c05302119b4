import { expect } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import type { Services } from '#core/platform/services';
import type { Outcome, ChannelMessage } from '#modules/notifications/channels/channel';
import { deliverBy, type ChannelAdapters } from '#modules/notifications/deliveries/delivering';
import { expandNotices } from '#modules/notifications/notices/expansion';
import { channels, type Channel } from '#modules/notifications/notifications.types';
import { withClient } from '#test/support/database';
import type { Tenant } from '#test/support/factories';
import type { Answer, Call, TestService } from '#test/support/harness';

export const path = '/api/v1/secure/admin/notifications';

type Row = Record<string, any>;

const min = { category: 'news', title: 'Closed', body: 'On Monday.', audience: { everyone: true } };

/** ChannelAdapters that take everything, or do with it what they are told, and remember what they were given. */
export function fakeAdapters(
  behave: (message: ChannelMessage, signal: AbortSignal) => Outcome | Promise<Outcome> = taken,
) {
  const messages: (ChannelMessage & { channel: Channel })[] = [];
  const adapterOf = (channel: Channel) => async (_services: Services, message: ChannelMessage, signal: AbortSignal) => {
    messages.push({ ...message, channel });
    return behave(message, signal);
  };
  const outside = channels.filter((channel) => channel !== 'in_app');
  const adapters = Object.fromEntries(outside.map((channel) => [channel, adapterOf(channel)])) as ChannelAdapters;
  return { adapters, messages };
}

export const taken = (): Outcome => ({ kind: 'taken' });

/** The calls of these tests, as the administrator of a tenant unless another user is given; no queue is started. */
export function stepsOf(test: TestService, tenant: Tenant) {
  const admin: Call = { token: tenant.admin.token };
  const { tenantId } = tenant;
  const { signal } = new AbortController();
  const ask = (text: string, values: unknown[] = []) =>
    withClient(test.connection, async (client) => (await client.query<Row>(text, [tenantId, ...values])).rows);

  return {
    admin,
    ask,
    post: (body: object = {}, by = admin): Promise<Answer> =>
      test.call('POST', path, { ...by, body: { ...min, ...body } }),
    async send(body: object = {}): Promise<Row> {
      const answer = await test.call('POST', path, { ...admin, body: { ...min, ...body } });
      expect(answer).toMatchObject({ status: 202 });
      return answer.body.data;
    },
    list: (query = '', by = admin) => test.call('GET', `${path}${query}`, by),
    get: (id: string, by = admin) => test.call('GET', `${path}/${id}`, by),
    cancel: (id: string, by = admin) => test.call('POST', `${path}/${id}/cancel`, by),
    log: async (query = ''): Promise<Row[]> => {
      const { status, body } = await test.call('GET', `${path}/deliveries?limit=200${query}`, admin);
      expect(status).toBe(200);
      return body.data;
    },
    prefer: (body: object) =>
      ask(
        `insert into notification_preferences (tenant_id, id, user_id, scope, category, channel, enabled, quiet_hours, rules, created_at, updated_at)
         select $1, $2, person, case when person is null then 'tenant_default' else 'user_override' end, coalesce(category, '*'), channel,
           coalesce(enabled, true), coalesce(quiet_hours, '{}'), coalesce(rules, '{}'), now(), now()
         from jsonb_to_record($3) as given (person uuid, category text, channel text, enabled boolean, quiet_hours jsonb, rules jsonb)
         returning id`,
        [newId(), JSON.stringify(body)],
      ).then(([row]) => row!['id'] as string),

    /** So many more users, in the order of their ids. */
    async createPeople(count: number): Promise<string[]> {
      const ids = Array.from({ length: count }, () => newId());
      await ask(
        `insert into users (tenant_id, id, account_id, email, display_name, full_name, locale)
         select $1, id, id, id || '@example.com', 'Person', 'Person', 'en' from unnest($2::uuid[]) as t (id)`,
        [ids],
      );
      return ids;
    },

    /** Does turns as a process would that takes them from the queue, until there is nothing to tell. */
    async tell(services: Services = test.service.services): Promise<void> {
      const left = `select from notices where tenant_id = $1 and status = 'queued' limit 1`;
      do await expandNotices().run({ services, data: { tenantId }, attempt: 1, signal });
      while ((await ask(left)).length > 0);
    },
    turn: (services: Services = test.service.services) =>
      expandNotices().run({ services, data: { tenantId }, attempt: 1, signal }),
    /** Does one turn of a channel. */
    deliver: (channel: Channel, adapters: ChannelAdapters, services: Services = test.service.services) =>
      deliverBy(adapters).run({ services, data: { tenantId, channel }, attempt: 1, signal }),

    /** What the queue holds for the tenant: which work, on which channel, due when. */
    waiting: () =>
      ask(
        `select name, data ->> 'channel' as channel, start_after as due
         from queue.job where data ->> 'tenantId' = $1::text and state = 'created' order by name, start_after`,
      ),
    dequeue: () => ask(`delete from queue.job where data ->> 'tenantId' = $1::text`),
    /** Moves leases and retry times back, as if that time had passed. */
    skipPause: () =>
      ask(`update notification_deliveries set due_at = least(due_at, now() - interval '1 s') where tenant_id = $1`),
    endLeases: () =>
      ask(
        `update notification_deliveries set lease_until = now() - interval '1 s'
         where tenant_id = $1 and lease_until is not null`,
      ),
  };
}
