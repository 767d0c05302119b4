import { OutboundError } from '#core/platform/outbound/outbound';
import type { Services } from '#core/platform/services';
import { parseRetryAfter } from '#modules/connectors/index';
import type { ChannelAdapter, ChannelMessage } from '#modules/notifications/channels/channel';
import { absoluteLink } from '#modules/notifications/channels/texts.rules';
import type { PushSubscriptionRow } from '#modules/notifications/notifications.tables';
import { findOrCreatePushKeys } from '#modules/notifications/push/push-keys';
import { deleteGone, listSubscriptions } from '#modules/notifications/push/push.queries';
import { contactOf, payloadOf, together, type Answer } from '#modules/notifications/push/push.rules';
import { openBrowser } from '#modules/notifications/push/subscriptions.service';
import { toRequest, type PushKeys } from '#modules/notifications/push/web-push';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'log' | 'mail' | 'now' | 'outbound' | 'settings'>;

/** Time for which a push service keeps messages for a browser that is not running. */
const keptSeconds = 3 * 24 * 60 * 60;
const timeoutMs = 10_000;
const maxAnswerBytes = 65_536;

/** Sends to each subscribed browser of the user; one success is enough. */
export const push: ChannelAdapter = async (services, message, signal) => {
  const { tenantId, person } = message;
  const db = services.database.tenant(tenantId);
  const rows = await db.all(listSubscriptions({ tenantId, userId: person.id, now: services.now().toISOString() }));
  if (rows.length === 0) return { kind: 'no_address' };
  const pushKeys = await findOrCreatePushKeys(services);
  const answers = await Promise.all(rows.map((row) => sendTo(services, row, { message, pushKeys, signal })));
  const gone = rows.filter((_row, at) => answers[at]!.kind === 'gone');
  if (gone.length > 0) await forget(services, tenantId, gone);
  const outcome = together(answers);
  if (outcome.kind !== 'taken') signal.throwIfAborted();
  return outcome;
};

/** A failed deletion is repeated with the next message and causes no duplicate. */
async function forget({ database, log }: Dependencies, tenantId: string, gone: readonly PushSubscriptionRow[]) {
  const which = { ids: gone.map(({ id }) => id), sealed: gone.map(({ sealed }) => sealed) };
  const { interactive } = database.tenant(tenantId);
  await interactive.all(deleteGone({ tenantId, ...which })).catch((error: unknown) => {
    log.warn({ err: error, tenantId }, 'expired push subscriptions could not be deleted');
  });
}

type Sending = { message: ChannelMessage; pushKeys: PushKeys; signal: AbortSignal };

/** Never throws: a failure with one browser does not affect the others. */
async function sendTo(services: Dependencies, row: PushSubscriptionRow, sending: Sending): Promise<Answer> {
  try {
    const answer = await send(services, row, { ...sending, isShort: false });
    const last = answer.status === 413 ? await send(services, row, { ...sending, isShort: true }) : answer;
    return answerOf(services, row, last);
  } catch (error) {
    if (!(error instanceof OutboundError) && !sending.signal.aborted) {
      const facts = { err: error, tenantId: row.tenant_id, subscriptionId: row.id };
      services.log.error(facts, 'a push message failed because of an internal error');
    }
    return { kind: 'failed', error };
  }
}

function send(
  services: Dependencies,
  row: PushSubscriptionRow,
  { message, pushKeys, signal, isShort }: Sending & { isShort: boolean },
): Promise<Response> {
  const { deliveryId, isCritical, tenantId } = message;
  const browser = openBrowser(services, row);
  const contact = contactOf(services.settings.publicUrl, services.mail.from);
  const link = absoluteLink(message.link, services.settings.publicUrl);
  const payload = payloadOf({ ...message, link }, { isShort });
  const { headers, body } = toRequest(browser, payload, { contact, pushKeys });
  return services.outbound.fetch(browser.endpoint, {
    method: 'POST',
    headers: {
      ...headers,
      ttl: String(keptSeconds),
      urgency: isCritical ? 'high' : 'normal',
      // The push service keeps only the latest undelivered message of a topic.
      topic: deliveryId.replaceAll('-', ''),
    },
    body,
    signal,
    circuit: `push ${row.origin}`,
    isIdempotent: true,
    owner: tenantId,
    timeoutMs,
    maxBytes: maxAnswerBytes,
  });
}

function answerOf({ log, now }: Dependencies, row: PushSubscriptionRow, { ok, status, headers }: Response): Answer {
  if (ok) return { kind: 'taken' };
  if (status === 404 || status === 410) return { kind: 'gone' };
  const facts = { tenantId: row.tenant_id, subscriptionId: row.id, origin: row.origin, status };
  if (status === 408 || status === 429 || status >= 500) {
    const wait = headers.get('retry-after');
    const error = new Error(`the push service answered ${status}`);
    return { kind: 'failed', error, ...(wait === null ? {} : { retryAfterMs: parseRetryAfter(wait, now()) * 1000 }) };
  }
  log.warn(facts, 'a push service refused a message');
  return { kind: 'refused' };
}
