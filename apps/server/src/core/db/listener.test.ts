import pg from 'pg';
import { inject, it, vi } from 'vitest';

import { newId } from '#core/crypto/ids';
import { listen } from '#core/db/listener';

it('hears notifications, says when it may have missed some, and comes back after a lost connection', async () => {
  const owner = new pg.Client(inject('connection'));
  await owner.connect();
  const channel = `channel_${newId().replaceAll('-', '')}`;
  const heard: string[] = [];
  let gaps = 0;
  const listener = listen({
    connection: inject('connection'),
    channels: {
      [channel]: (payload) => void heard.push(payload),
      [`${channel}_b`]: (payload) => void heard.push(`b ${payload}`),
    },
    onGap: () => (gaps += 1),
    retryMs: 5,
  });
  await vi.waitUntil(() => listener.isConnected());
  await owner.query('select pg_notify($1, $2)', [channel, 'first']);
  await owner.query('select pg_notify($1, $2)', [`${channel}_b`, 'first']);
  await vi.waitUntil(() => heard.includes('first') && heard.includes('b first'));

  const before = gaps;
  await owner.query(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'atrium_listen' and query like $1`,
    [`%${channel}%`],
  );
  await vi.waitUntil(() => gaps >= before + 2 && listener.isConnected());
  await owner.query('select pg_notify($1, $2)', [channel, 'second']);
  await vi.waitUntil(() => heard.includes('second'));

  await listener.close();
  await owner.end();
});
