import { cut, oneLine, plain } from '#modules/notifications/channels/texts.rules';
import type { Texts } from '#modules/notifications/notifications.types';

/** Push services take 4096 bytes at least (RFC 8030 section 7.2), of which the encryption takes its part. */
const mostBytes = 3072;
const mostLinkBytes = 1500;
const titleCharacters = 200;
const bodyCharacters = 3000;

type Told = { deliveryId: string; notificationId: string; category: string; texts: Texts; link: string | null };

/** What the service worker of the browser gets, with as much of the body as fits; `isShort` for none of it. */
export function payloadOf({ texts, link, ...told }: Told, { isShort }: { isShort: boolean }): string {
  const { deliveryId, notificationId, category } = told;
  const title = cut(oneLine(texts.title), titleCharacters);
  const ids = { deliveryId, notificationId };
  const known = { ...ids, category, title, link: link !== null && byteLength(link) > mostLinkBytes ? null : link };
  const body = plain(texts.body);
  for (let most = isShort ? 0 : bodyCharacters; ; most = Math.floor(most * 0.8)) {
    const payload = JSON.stringify({ ...known, body: most < 10 ? '' : cut(body, most) });
    if (most < 10 || byteLength(payload) <= mostBytes) return payload;
  }
}

function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

/** Whom the operator of a push service may ask: the installation where it has an address of its own, else who sends its mail. */
export function contactOf(publicUrl: string, sender: string): string {
  const url = URL.parse(publicUrl);
  if (url?.protocol === 'https:' && url.hostname !== 'localhost') return url.origin;
  const address = /<([^<>]+)>\s*$/.exec(sender)?.[1] ?? sender;
  return `mailto:${address.trim()}`;
}

export type Answer =
  | { kind: 'taken' }
  /** The push service does not know the browser any more. */
  | { kind: 'gone' }
  | { kind: 'refused' }
  | { kind: 'failed'; retryAfterMs?: number; error: unknown };

/** Told on one browser is told: those that failed are left out, for the others would be told twice. */
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
