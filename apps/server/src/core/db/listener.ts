import pg from 'pg';

/** LISTEN with a connection of its own, reconnecting for as long as the process lives. */
export type Listener = {
  /** False while notifications may be missed; caches must not trust themselves for long then. */
  isConnected(): boolean;
  close(): Promise<void>;
};

export type ListenerOptions = {
  connection: pg.ClientConfig;
  /** What to do with the messages of each channel. */
  channels: Readonly<Record<string, (payload: string) => void>>;
  /** Notifications may have been missed: whatever they keep fresh must be forgotten. */
  onGap: () => void;
  retryMs?: number;
};

export function listen(options: ListenerOptions): Listener {
  let client: pg.Client | undefined;
  let connected = false;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;

  const lost = () => {
    if (connected) options.onGap();
    connected = false;
    client = undefined;
    if (closed || retry !== undefined) return;
    retry = setTimeout(() => {
      retry = undefined;
      void connect();
    }, options.retryMs ?? 500).unref();
  };

  async function connect(): Promise<void> {
    const candidate = new pg.Client({ ...options.connection, application_name: 'atrium_listen', keepAlive: true });
    candidate.on('error', lost);
    candidate.on('end', lost);
    candidate.on('notification', ({ channel, payload = '' }) => options.channels[channel]?.(payload));
    try {
      await candidate.connect();
      for (const name of Object.keys(options.channels)) {
        await candidate.query(`listen ${candidate.escapeIdentifier(name)}`);
      }
    } catch {
      await candidate.end().catch(() => undefined);
      lost();
      return;
    }
    if (closed) {
      await candidate.end();
      return;
    }
    client = candidate;
    connected = true;
    options.onGap();
  }

  void connect();
  return {
    isConnected: () => connected,
    close: async () => {
      closed = true;
      clearTimeout(retry);
      await client?.end();
    },
  };
}
