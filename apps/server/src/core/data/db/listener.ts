import pg from 'pg';

import { keepAlive, streamOf } from '#core/data/db/connection';

/** LISTEN on a separate connection, which reconnects as long as the process lives. */
export type Listener = {
  /** False while notifications may be missed; cached entries must then live briefly. */
  isConnected(): boolean;
  close(): Promise<void>;
};

export type ListenerTiming = {
  /** Pause before the next attempt to connect. */
  retryMs: number;
  /** One attempt to connect, LISTEN included. */
  connectMs: number;
  /** Silence on the heartbeat channel after which this process notifies it. */
  beatMs: number;
  /** Silence after which notifications may be missed. */
  silenceMs: number;
  /** Silence after which the connection is closed. */
  stalledMs: number;
  /** Between two calls of `onGap` while notifications may be missed. */
  gapMs: number;
};

export type ListenerOptions = {
  connection: pg.ClientConfig;
  /** The handler of the messages of each channel. */
  channels: Readonly<Record<string, (payload: string) => void>>;
  /**
   * Notifications may have been missed: all state that depends on them must be refreshed. Called repeatedly until delivery
   * works again.
   */
  onGap: () => void;
  timing?: Partial<ListenerTiming>;
};

// A revocation right after the last heartbeat takes effect within the promised second.
const defaultTiming: ListenerTiming = {
  retryMs: 500,
  connectMs: 2000,
  beatMs: 300,
  silenceMs: 800,
  stalledMs: 2000,
  gapMs: 900,
};
const tickMs = 100;
/** All processes listen to it, so the first one that notifies it does so for all. */
const heartbeatChannel = 'atrium_heartbeat';
// No flush to disk: a heartbeat that is lost with the server does no harm.
const beat = `set synchronous_commit = off; select pg_notify('${heartbeatChannel}', '')`;

export function listen(options: ListenerOptions): Listener {
  const timing = { ...defaultTiming, ...options.timing };
  let hearing: ReturnType<typeof createHearing> | undefined;
  let attempt: pg.Client | undefined;
  let nextAttemptAt = 0;
  let [isClosed, isBlind] = [false, true];
  let gapAt = -Infinity;

  function tellGap(now: number): void {
    gapAt = now;
    options.onGap();
  }

  function lost(client: pg.Client): void {
    if (hearing?.client !== client) return;
    hearing = undefined;
    nextAttemptAt = performance.now() + timing.retryMs;
    if (isClosed || isBlind) return;
    isBlind = true;
    tellGap(performance.now());
  }

  async function connect(): Promise<void> {
    const client = new pg.Client({ ...options.connection, ...keepAlive, application_name: 'atrium_listen' });
    attempt = client;
    client.on('error', () => lost(client));
    client.on('end', () => lost(client));
    client.on('notification', ({ channel, payload = '' }) => {
      if (channel !== heartbeatChannel) options.channels[channel]?.(payload);
      else if (hearing?.client === client) hearing.heard();
    });
    const isUp = await subscribe(client, [...Object.keys(options.channels), heartbeatChannel], timing.connectMs);
    attempt = undefined;
    if (isUp) hearing = createHearing(client);
    else nextAttemptAt = performance.now() + timing.retryMs;
    if (isClosed) streamOf(client).destroy();
  }

  function look(): void {
    const now = performance.now();
    hearing?.look(now, timing);
    if (hearing === undefined && attempt === undefined && now >= nextAttemptAt) void connect();
    const wasBlind = isBlind;
    isBlind = hearing === undefined || hearing.isSilent(now, timing.silenceMs);
    // At the end of a gap as well: state from the gap is refreshed once notifications arrive again.
    if (isBlind !== wasBlind || (isBlind && now - gapAt >= timing.gapMs)) tellGap(now);
  }

  void connect();
  const timer = setInterval(look, Math.min(tickMs, timing.beatMs)).unref();
  return {
    isConnected: () => !isBlind,
    close: () => {
      isClosed = true;
      clearInterval(timer);
      const client = attempt ?? hearing?.client;
      return Promise.resolve(client && streamOf(client).destroy());
    },
  };
}

/** @returns whether it listens to all channels; otherwise the connection is closed */
async function subscribe(client: pg.Client, channels: readonly string[], connectMs: number): Promise<boolean> {
  const timer = setTimeout(() => streamOf(client).destroy(), connectMs).unref();
  try {
    await client.connect();
    for (const name of channels) await client.query(`listen ${client.escapeIdentifier(name)}`);
    return true;
  } catch {
    streamOf(client).destroy();
    return false;
  } finally {
    clearTimeout(timer);
  }
}

/** Ticks since the last heartbeat: heartbeats may be unread while the process itself is blocked. */
const minLooks = 3;

/** A connection that listens, and the time of its last heartbeat. */
function createHearing(client: pg.Client) {
  let heardAt = performance.now();
  let looks = 0;
  let isAsking = false;
  return {
    client,
    heard() {
      heardAt = performance.now();
      looks = 0;
    },
    look(now: number, { beatMs, stalledMs }: Pick<ListenerTiming, 'beatMs' | 'stalledMs'>) {
      looks += 1;
      if (this.isSilent(now, stalledMs)) streamOf(client).destroy();
      if (isAsking || now - heardAt < beatMs) return;
      isAsking = true;
      const answered = () => void (isAsking = false);
      client.query(beat).then(answered, answered);
    },
    isSilent: (now: number, silenceMs: number) => looks >= minLooks && now - heardAt > silenceMs,
  };
}
