import { cut, oneLine, plain } from '#modules/notifications/channels/texts.rules';
import type { Texts } from '#modules/notifications/notifications.types';

/** Push services accept at least 4096 bytes (RFC 8030 section 7.2), including the encryption overhead. */
const maxBytes = 3072;
const maxLinkBytes = 1500;
const titleCharacters = 200;
const bodyCharacters = 3000;

type Told = { deliveryId: string; notificationId: string; category: string; texts: Texts; link: string | null };

/** The payload for the service worker, with the part of the body that fits; `isShort` omits the body. */
export function payloadOf({ texts, link, ...told }: Told, { isShort }: { isShort: boolean }): string {
  const { deliveryId, notificationId, category } = told;
  const title = cut(oneLine(texts.title), titleCharacters);
  const ids = { deliveryId, notificationId };
  const known = { ...ids, category, title, link: link !== null && byteLength(link) > maxLinkBytes ? null : link };
  const body = plain(texts.body);
  for (let max = isShort ? 0 : bodyCharacters; ; max = Math.floor(max * 0.8)) {
    const payload = JSON.stringify({ ...known, body: max < 10 ? '' : cut(body, max) });
    if (max < 10 || byteLength(payload) <= maxBytes) return payload;
  }
}

function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

/** Contact for operators of push services: the installation's https origin, otherwise its mail address. */
export function contactOf(publicUrl: string, sender: string): string {
  const url = URL.parse(publicUrl);
  if (url?.protocol === 'https:' && url.hostname !== 'localhost') return url.origin;
  const address = /<([^<>]+)>\s*$/.exec(sender)?.[1] ?? sender;
  return `mailto:${address.trim()}`;
}

export type Answer =
  | { kind: 'taken' }
  /** The push service no longer knows the browser. */
  | { kind: 'gone' }
  | { kind: 'refused' }
  | { kind: 'failed'; retryAfterMs?: number; error: unknown };

/** One success counts for the user: a retry for failed browsers would notify the others twice. */
export function together(answers: readonly Answer[]): Exclude<Answer, { kind: 'gone' }> | { kind: 'no_address' } {
  const of = <Kind extends Answer['kind']>(kind: Kind) =>
    answers.filter((answer): answer is Extract<Answer, { kind: Kind }> => answer.kind === kind);
  if (of('taken').length > 0) return { kind: 'taken' };
  const failed = of('failed');
  if (failed.length > 0) {
    const waits = failed.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
    const { error } = failed[0]!;
    return { kind: 'failed', error, ...(waits.length === 0 ? {} : { retryAfterMs: Math.max(...waits) }) };
  }
  return of('refused').length > 0 ? { kind: 'refused' } : { kind: 'no_address' };
}
