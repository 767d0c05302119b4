import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { Dispatcher } from 'undici';

export type WireRequest = Pick<
  Dispatcher.DispatchOptions,
  'origin' | 'path' | 'method' | 'headers' | 'body' | 'headersTimeout' | 'bodyTimeout'
>;

export type WireAnswer = { status: number; headers: IncomingHttpHeaders; body: Buffer };

export type ExchangeLimits = {
  signal: AbortSignal;
  /** Cut before more than this is kept. */
  maxBytes: number;
  /** Told when the first byte of an answer has come. */
  onAnswer(): void;
  /** Told once, when nothing of this is on any socket any more; after a cancellation that may be later than the failure. */
  onEnd(): void;
};

/** One request and its whole answer, as it is on the wire. */
export function exchange(dispatcher: Dispatcher, request: WireRequest, limits: ExchangeLimits): Promise<WireAnswer> {
  const { signal, maxBytes, onAnswer, onEnd } = limits;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let head: Pick<WireAnswer, 'status' | 'headers'> | undefined;
    let running: Dispatcher.DispatchController | undefined;
    const cancel = () => {
      reject(signal.reason as Error);
      running?.abort(signal.reason as Error);
    };
    const end = () => {
      signal.removeEventListener('abort', cancel);
      onEnd();
    };
    signal.addEventListener('abort', cancel, { once: true });
    dispatcher.dispatch(request, {
      onRequestStart(controller) {
        running = controller;
        if (signal.aborted) controller.abort(signal.reason as Error);
      },
      onResponseStarted: onAnswer,
      onResponseStart(_controller, status, headers) {
        head = { status, headers };
      },
      onResponseData(controller, chunk) {
        size += chunk.byteLength;
        if (size > maxBytes) controller.abort(new Error(`the answer has more than ${maxBytes} bytes`));
        else chunks.push(chunk);
      },
      onResponseEnd() {
        end();
        resolve({ ...head!, body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) });
      },
      onResponseError(_controller, error) {
        end();
        reject(error);
      },
    });
  });
}

type Decompress = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const gzip: Decompress = promisify(gunzip);
const decompressions: Readonly<Record<string, Decompress>> = {
  gzip,
  'x-gzip': gzip,
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

/** Value of `accept-encoding`. */
export const acceptedEncodings = 'gzip, deflate, br';

/** As the platform's `fetch` would answer, with the body counted once more after decompression. */
export async function toResponse({ status, headers, body }: WireAnswer, maxBytes: number): Promise<Response> {
  const hasBody = body.byteLength > 0 && status !== 204 && status !== 205 && status !== 304;
  const bytes = hasBody ? await decompressed(body, headers['content-encoding'], maxBytes) : null;
  return new Response(bytes as Buffer<ArrayBuffer> | null, { status, headers: pairsOf(headers) });
}

function decompressed(body: Buffer, encoding: string | undefined, maxBytes: number): Buffer | Promise<Buffer> {
  // At most one compression: nested ones are used to make decompression expensive.
  const decompress = encoding === undefined ? undefined : decompressions[encoding.trim().toLowerCase()];
  return decompress === undefined ? body : decompress(body, { maxOutputLength: maxBytes });
}

function pairsOf(received: IncomingHttpHeaders): [string, string][] {
  return Object.entries(received).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value]] : (value ?? []).map((one): [string, string] => [name, one]),
  );
}
