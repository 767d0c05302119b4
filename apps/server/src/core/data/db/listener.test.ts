import type pg from 'pg';
import { expect, inject, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { listen, type ListenerTiming } from '#core/data/db/listener';
import { createDatabase, withClient } from '#test/support/database';
import { useOpened } from '#test/support/opened';
import { openRelay } from '#test/support/relay';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

const { open, listen: listenOn } = useOpened();

const long = { timeout: 30_000, interval: 10 };

function hear(connection: pg.ClientConfig, timing: Partial<ListenerTiming> = {}) {
  const channel = `channel_${newId().replaceAll('-', '')}`;
  const seen = { heard: [] as string[], gaps: 0 };
  const listener = listen({
    connection,
    channels: {
      [channel]: (payload) => void seen.heard.push(payload),
      [`${channel}_b`]: (payload) => void seen.heard.push(`b ${payload}`),
    },
    onGap: () => (seen.gaps += 1),
    timing: { retryMs: 5, ...timing },
  });
  open.push(() => listener.close());
  const notify = (payload: string, to = channel) =>
    withClient({ ...inject('connection'), database: connection.database }, (client) =>
      client.query('select pg_notify($1, $2)', [to, payload]),
    );
  return { listener, channel, seen, notify };
}

it('hears notifications, says when it may have missed some, and comes back after a lost connection', async () => {
  const { connection, drop } = await createDatabase();
  open.push(drop);
  const { listener, channel, seen, notify } = hear(connection);
  await vi.waitUntil(() => listener.isConnected(), long);
  await notify('first');
  await notify('first', `${channel}_b`);
  await vi.waitUntil(() => seen.heard.includes('first') && seen.heard.includes('b first'), long);

  const before = seen.gaps;
  await withClient(connection, (owner) =>
    owner.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity
       where application_name = 'atrium_listen' and datname = current_database()`,
    ),
  );
  await vi.waitUntil(() => seen.gaps >= before + 2 && listener.isConnected(), long);
  await notify('second');
  await vi.waitUntil(() => seen.heard.includes('second'), long);
});

it('does not trust a connection whose packets vanish, says so until it hears again, and opens another', async () => {
  const relay = await openRelay(listenOn);
  const { listener, seen, notify } = hear(relay.connection, { gapMs: 50, connectMs: 500 });
  await vi.waitUntil(() => listener.isConnected(), long);
  relay.hang();
  relay.swallow();
  await vi.waitUntil(() => !listener.isConnected(), long);
  const [gaps, opened] = [seen.gaps, relay.opened()];
  // Attempts that hang are given up, and what may have been missed is asked for meanwhile.
  await vi.waitUntil(() => seen.gaps >= gaps + 5 && relay.opened() >= opened + 3, long);
  relay.answer();
  await vi.waitUntil(() => listener.isConnected(), long);
  await notify('after');
  await vi.waitUntil(() => seen.heard.includes('after'), long);
});

it('trusts a connection on which nothing happens but heartbeats', async () => {
  const { listener, seen } = hear(inject('connection'), { beatMs: 20, silenceMs: 5000 });
  await vi.waitUntil(() => listener.isConnected(), long);
  const gaps = seen.gaps;
  await withClient(inject('connection'), async (client) => {
    await client.query('listen atrium_heartbeat');
    let beats = 0;
    client.on('notification', () => (beats += 1));
    await vi.waitUntil(() => beats > 10, long);
  });
  expect(listener.isConnected()).toBe(true);
  expect(seen.gaps).toBe(gaps);
});
