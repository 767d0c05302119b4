import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { Agent, buildConnector, fetch as undiciFetch } from 'undici';

import { AppError } from '#core/errors/app-error';
import { createAddressGuard, type AddressGuard } from '#core/outbound/addresses';
import { literalAddress, parseTarget } from '#core/outbound/target';
import type { Within } from '#core/tracing/tracing';

/** The one way to the outside: to public addresses only, within fixed limits, one connection for each call. */
export type Outbound = {
  /**
   * Fetches as the platform's `fetch` does, but never follows a redirect (it is the answer) and has read the whole
   * body when it returns.
   * @throws OutboundError whatever went wrong, a caller's `signal` included
   */
  fetch(url: string | URL, init?: OutboundInit): Promise<Response>;
  /** False for an address that would be refused unseen: scheme, credentials, port, or an IP address that is closed. */
  canTarget(url: string | URL): boolean;
  /** Lets calls under way end. */
  close(): Promise<void>;
};

export type OutboundInit = {
  method?: string;
  headers?: Readonly<Record<string, string>> | Headers;
  body?: string | Uint8Array | ArrayBuffer | URLSearchParams | ReadableStream | null | undefined;
  signal?: AbortSignal | undefined;
};

/** A call that brought no answer. Always the same text, so that it tells nobody what listens where; `cause` is for the log. */
export class OutboundError extends AppError {
  override name = 'OutboundError';

  constructor(cause: unknown) {
    super('UPSTREAM_ERROR', 'The outside service gave no usable answer.', { cause });
  }
}

type Lookup = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

const defaultLimits = {
  connectMs: 3000,
  headersMs: 10_000,
  totalMs: 30_000,
  maxBodyBytes: 1_048_576,
  maxSockets: 50,
};

export type OutboundOptions = {
  /** Private addresses and CIDR ranges that may be called all the same. */
  allowedRanges: readonly string[];
  /** Where this service listens: it does not call itself. */
  ownPort: number;
  limits?: Partial<typeof defaultLimits>;
  lookup?: Lookup;
  /** Told of every call of a request. */
  within?: Within | undefined;
};

export function createOutbound(options: OutboundOptions): Outbound {
  const limits = { ...defaultLimits, ...options.limits };
  const guard = createAddressGuard(options.allowedRanges);
  const agent = createAgent(guard, options.lookup ?? systemLookup, limits);
  const slots = createSlots(limits.maxSockets);

  async function call(url: URL, init: OutboundInit): Promise<Response> {
    const deadline = AbortSignal.timeout(limits.totalMs);
    const signal = init.signal === undefined ? deadline : AbortSignal.any([init.signal, deadline]);
    await slots.enter(signal);
    try {
      const { method = 'GET', body = null } = init;
      const answer = await undiciFetch(url, {
        method,
        headers: Object.fromEntries(headersOf(init)),
        body: body as string | null,
        signal,
        redirect: 'manual',
        duplex: 'half',
        dispatcher: agent,
      });
      const bytes = await readAll(answer.body as ReadableStream<Uint8Array> | null, limits.maxBodyBytes);
      return new Response(bytes, { status: answer.status, headers: [...answer.headers] });
    } finally {
      slots.leave();
    }
  }

  return {
    async fetch(given, init = {}) {
      const url = parseTarget(given, options.ownPort);
      if (url === undefined) throw new OutboundError(new Error('this address is never called'));
      try {
        return await (options.within === undefined ? call(url, init) : traced(options.within, url, init, call));
      } catch (error) {
        throw new OutboundError(error);
      }
    },
    canTarget(given) {
      const url = parseTarget(given, options.ownPort);
      const literal = url === undefined ? undefined : literalAddress(url.hostname);
      return url !== undefined && (literal === undefined || guard.isAllowed(literal));
    },
    close: async () => {
      if (!agent.closed) await agent.close();
    },
  };
}

type Call = (url: URL, init: OutboundInit) => Promise<Response>;

/** Without path and query, which may carry secrets of whoever configured the call; and strangers are told nothing of the trace. */
function traced(within: Within, url: URL, init: OutboundInit, call: Call): Promise<Response> {
  const { method = 'GET' } = init;
  const { hostname, port, protocol } = url;
  const attributes = {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'url.scheme': protocol.slice(0, -1),
  };
  return within({ name: method, attributes }, async (tell) => {
    const answer = await call(url, init);
    tell({ 'http.response.status_code': answer.status });
    return answer;
  });
}

function headersOf({ headers: given }: OutboundInit): Headers {
  try {
    const headers = new Headers(given);
    if (!headers.has('user-agent')) headers.set('user-agent', 'Atrium');
    return headers;
  } catch {
    // The platform's own error quotes the value, which may be a credential.
    throw new Error('a header has a name or a value that HTTP does not know');
  }
}

function createAgent(guard: AddressGuard, lookup: Lookup, limits: typeof defaultLimits): Agent {
  const connect = buildConnector({ timeout: limits.connectMs, lookup: guardedLookup(guard, lookup) });
  return new Agent({
    // No connection outlives its call: an address is judged anew each time, and sockets are as many as calls.
    pipelining: 0,
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.totalMs,
    maxResponseSize: limits.maxBodyBytes,
    connect(target, callback) {
      // Node looks up names only, so an address that stands in the URL is judged here.
      const literal = literalAddress(target.hostname);
      if (literal !== undefined && !guard.isAllowed(literal)) callback(new AddressRefused(literal), null);
      else connect(target, callback);
    },
  });
}

class AddressRefused extends Error {
  constructor(address: string) {
    super(`${address} is not open to outbound calls`);
  }
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** Resolves once and hands on exactly what was judged; one closed address among many closes the name. */
function guardedLookup(guard: AddressGuard, lookup: Lookup) {
  return (hostname: string, options: LookupOptions, callback: LookupCallback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const refused = error === null ? addresses.find(({ address }) => !guard.isAllowed(address)) : undefined;
      const [first] = addresses ?? [];
      if (error !== null) callback(error, []);
      else if (refused !== undefined) callback(new AddressRefused(refused.address), []);
      else if (first === undefined) callback(new Error('the name has no address'), []);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** Counted after decompression; what is too large is not read to its end. */
async function readAll(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (body === null) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop cancels the stream and with it the connection.
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** At most `count` calls at a time; the others wait for as long as they would wait for an answer. */
function createSlots(count: number) {
  let taken = 0;
  const waiting = new Set<() => void>();
  return {
    async enter(signal: AbortSignal): Promise<void> {
      signal.throwIfAborted();
      if (taken < count) {
        taken += 1;
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const giveUp = () => {
          waiting.delete(start);
          reject(signal.reason as Error);
        };
        const start = () => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        };
        signal.addEventListener('abort', giveUp, { once: true });
        waiting.add(start);
      });
    },
    leave(): void {
      const [next] = waiting;
      if (next === undefined) {
        taken -= 1;
        return;
      }
      // The slot passes on without being given back, so nobody can slip in between.
      waiting.delete(next);
      next();
    },
  };
}
