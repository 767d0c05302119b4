import { OutboundError } from '#core/outbound/outbound';
import type { Services } from '#core/services';
import { patienceSeconds } from '#modules/connectors/index';
import type { Carrier, Parcel } from '#modules/notifications/channels/channel';
import { absoluteLink } from '#modules/notifications/channels/texts.rules';
import type { PushSubscriptionRow } from '#modules/notifications/notifications.tables';
import { findOrCreatePushKeys } from '#modules/notifications/push/push-keys';
import { deleteGone, listSubscriptions } from '#modules/notifications/push/push.queries';
import { contactOf, payloadOf, together, type Answer } from '#modules/notifications/push/push.rules';
import { openBrowser } from '#modules/notifications/push/subscriptions.service';
import { toRequest, type PushKeys } from '#modules/notifications/push/web-push';

/** How long a push service keeps what is for a browser that is not running. */
const keptSeconds = 3 * 24 * 60 * 60;
const patienceMs = 10_000;
const mostAnswerBytes = 65_536;

/** To each browser that the person has registered; what has come to one of them has come to the person. */
export const push: Carrier = async (services, parcel, signal) => {
  const { tenantId, person } = parcel;
  const db = services.database.tenant(tenantId);
  const rows = await db.all(listSubscriptions({ tenantId, userId: person.id, now: services.now().toISOString() }));
  if (rows.length === 0) return { kind: 'no_address' };
  const pushKeys = await findOrCreatePushKeys(services);
  const answers = await Promise.all(rows.map((row) => tell(services, row, { parcel, pushKeys, signal })));
  const gone = rows.filter((_row, at) => answers[at]!.kind === 'gone');
  if (gone.length > 0) await forget(services, tenantId, gone);
  const outcome = together(answers);
  if (outcome.kind !== 'taken') signal.throwIfAborted();
  return outcome;
};

/** Those that stay are told to be gone the next time: nobody is told twice for it. */
async function forget({ database, log }: Services, tenantId: string, gone: readonly PushSubscriptionRow[]) {
  const which = { ids: gone.map(({ id }) => id), sealed: gone.map(({ sealed }) => sealed) };
  const { slow } = database.tenant(tenantId);
  await slow.all(deleteGone({ tenantId, ...which })).catch((error: unknown) => {
    log.warn({ err: error, tenantId }, 'browsers that are gone could not be forgotten');
  });
}

type Telling = { parcel: Parcel; pushKeys: PushKeys; signal: AbortSignal };

/** Never throws: what goes wrong with one browser says nothing of those that were told. */
async function tell(services: Services, row: PushSubscriptionRow, telling: Telling): Promise<Answer> {
  try {
    const answer = await send(services, row, { ...telling, isShort: false });
    const last = answer.status === 413 ? await send(services, row, { ...telling, isShort: true }) : answer;
    return answerOf(services, row, last);
  } catch (error) {
    if (!(error instanceof OutboundError) && !telling.signal.aborted) {
      const facts = { err: error, tenantId: row.tenant_id, subscriptionId: row.id };
      services.log.error(facts, 'a browser could not be told for a reason of our own');
    }
    return { kind: 'failed', error };
  }
}

function send(
  services: Services,
  row: PushSubscriptionRow,
  { parcel, pushKeys, signal, isShort }: Telling & { isShort: boolean },
): Promise<Response> {
  const { deliveryId, isCritical, tenantId } = parcel;
  const browser = openBrowser(services, row);
  const contact = contactOf(services.settings.publicUrl, services.mail.from);
  const link = absoluteLink(parcel.link, services.settings.publicUrl);
  const payload = payloadOf({ ...parcel, link }, { isShort });
  const { headers, body } = toRequest(browser, payload, { contact, pushKeys });
  return services.outbound.fetch(browser.endpoint, {
    method: 'POST',
    headers: {
      ...headers,
      ttl: String(keptSeconds),
      urgency: isCritical ? 'high' : 'normal',
      // Of those that a browser has not fetched yet, the push service keeps one of a topic.
      topic: deliveryId.replaceAll('-', ''),
    },
    body,
    signal,
    circuit: `push ${row.origin}`,
    isRepeatable: true,
    owner: tenantId,
    timeoutMs: patienceMs,
    maxBytes: mostAnswerBytes,
  });
}

function answerOf({ log, now }: Services, row: PushSubscriptionRow, { ok, status, headers }: Response): Answer {
  if (ok) return { kind: 'taken' };
  if (status === 404 || status === 410) return { kind: 'gone' };
  const facts = { tenantId: row.tenant_id, subscriptionId: row.id, origin: row.origin, status };
  if (status === 408 || status === 429 || status >= 500) {
    const wait = headers.get('retry-after');
    const error = new Error(`the push service answered ${status}`);
    return { kind: 'failed', error, ...(wait === null ? {} : { retryAfterMs: patienceSeconds(wait, now()) * 1000 }) };
  }
  log.warn(facts, 'a push service refused a message');
  return { kind: 'refused' };
}
