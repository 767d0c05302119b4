import pg from 'pg';

import { keepAlive, streamOf } from '#core/data/db/connection';

/** LISTEN with a connection of its own, reconnecting for as long as the process lives. */
export type Listener = {
  /** False while notifications may be missed; caches must not trust themselves for long then. */
  isConnected(): boolean;
  close(): Promise<void>;
};

export type ListenerTiming = {
  /** Pause before the next attempt to connect. */
  retryMs: number;
  /** One attempt to connect, LISTEN included. */
  connectMs: number;
  /** Rest on the heartbeat channel after which this process notifies it. */
  beatMs: number;
  /** Rest after which notifications may be missed. */
  silenceMs: number;
  /** Rest after which the connection is given up. */
  stallMs: number;
  /** Between two calls of `onGap` while notifications may be missed. */
  gapMs: number;
};

export type ListenerOptions = {
  connection: pg.ClientConfig;
  /** What to do with the messages of each channel. */
  channels: Readonly<Record<string, (payload: string) => void>>;
  /**
   * Notifications may have been missed: all state that depends on them must be refreshed. Called repeatedly until delivery
   * works again.
   */
  onGap: () => void;
  timing?: Partial<ListenerTiming>;
};

// What was revoked elsewhere right after a heartbeat is asked for within the second that is promised.
const defaultTiming: ListenerTiming = {
  retryMs: 500,
  connectMs: 2000,
  beatMs: 300,
  silenceMs: 800,
  stallMs: 2000,
  gapMs: 900,
};
const tickMs = 100;
/** All processes hear it, so whichever notifies it first does so for all of them. */
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
    // At the end of a gap as well: what was missed in it is forgotten once all that follows is heard.
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

/** @returns whether it listens to all channels; where it does not in time, the connection is given up */
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

/** Looks since the last heartbeat: while the process itself stands still, heartbeats may lie unread. */
const minLooks = 3;

/** A connection that listens, and when it was last heard. */
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
    look(now: number, { beatMs, stallMs }: Pick<ListenerTiming, 'beatMs' | 'stallMs'>) {
      looks += 1;
      if (this.isSilent(now, stallMs)) streamOf(client).destroy();
      if (isAsking || now - heardAt < beatMs) return;
      isAsking = true;
      const answered = () => void (isAsking = false);
      client.query(beat).then(answered, answered);
    },
    isSilent: (now: number, silenceMs: number) => looks >= minLooks && now - heardAt > silenceMs,
  };
}
