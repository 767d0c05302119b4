import type { Actor } from '#core/access/principal';
import { takePlaces } from '#core/background/places';
import type { TenantDb } from '#core/db/scopes';
import { ServiceUnavailable } from '#core/errors/common-errors';
import type { Services } from '#core/services';
import { createAttempt } from '#core/throttle/throttle';
import { TooManyTranslationsAtOnce } from '#modules/translation/translation.errors';

export type TranslationOperation =
  | 'translation.text'
  | 'translation.i18n'
  | 'translation.entity'
  | 'translation.entity_type';

/** For whom texts are translated, and as part of what. */
export type TranslationScope = {
  services: Services;
  db: TenantDb;
  operation: TranslationOperation;
  /** For the log of calls. */
  caller: { userId: string | null; requestId: string | null };
  /**
   * Asked before texts leave, which those that memory knows do not.
   * @returns what ends the work when nobody waits for it any more.
   * @throws TooManyTranslationsAtOnce (429), ServiceUnavailable (503)
   */
  begin(): Promise<AbortSignal>;
};

const minute = 60_000;
const budgets = { caller: 60, tenant: 600 };
/** Who waits for a provider holds little but memory, so there may be many of them; not all of one tenant, though. */
const places = { process: 256, tenant: 64 };

export type TranslationRequest = { services: Services; db: TenantDb; actor: Actor; untilAbandoned(): AbortSignal };

/**
 * Translates within a request. Once a provider is needed, and not before, it draws once from the budgets of the caller and the tenant,
 * and holds a place for as long as it takes.
 */
export async function translateFor<Result>(
  { services, db, actor, untilAbandoned }: TranslationRequest,
  operation: TranslationOperation,
  work: (scope: TranslationScope) => Promise<Result>,
): Promise<Result> {
  let begun: Promise<AbortSignal> | undefined;
  let release: (() => void) | undefined;
  const begin = async () => {
    await draw(services, { tenantId: db.tenantId, actorId: actor.id });
    release = takePlace(db.tenantId);
    return untilAbandoned();
  };
  const caller = { userId: actor.userId, requestId: actor.request.id };
  try {
    return await work({ services, db, operation, caller, begin: () => (begun ??= begin()) });
  } finally {
    // A place that is taken only now is to be given back, too.
    await begun?.catch(() => undefined);
    release?.();
  }
}

async function draw(services: Services, { tenantId, actorId }: { tenantId: string; actorId: string }): Promise<void> {
  const attempt = createAttempt(
    services,
    [
      { key: `translate:${tenantId}:${actorId}`, max: budgets.caller, windowMs: minute },
      { key: `translate:${tenantId}`, max: budgets.tenant, windowMs: minute },
    ],
    TooManyTranslationsAtOnce,
  );
  await attempt.admit();
}

function takePlace(tenantId: string): () => void {
  const refusal = () => ServiceUnavailable({ retryAfterSeconds: 5 });
  return takePlaces(
    { name: `translations of ${tenantId}`, most: places.tenant, refusal },
    { name: 'translations', most: places.process, refusal },
  );
}
