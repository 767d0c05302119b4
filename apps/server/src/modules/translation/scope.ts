import type { Actor } from '#core/base/access/principal';
import { processPermits, type Release } from '#core/base/concurrency/semaphore';
import { ServiceUnavailable } from '#core/base/errors/common-errors';
import type { TenantDb } from '#core/data/db/scopes';
import { createLimitedAttempt, type LimitedAttempt } from '#core/data/rate-limit/limited-attempts';
import type { Services } from '#core/platform/services';
import { TooManyTranslations } from '#modules/translation/translation.errors';

type Dependencies = Pick<
  Services,
  'callLog' | 'database' | 'encryption' | 'log' | 'now' | 'outbound' | 'queue' | 'runtimeSettings'
>;

export type TranslationOperation =
  | 'translation.text'
  | 'translation.i18n'
  | 'translation.entity'
  | 'translation.entity_type';

/** The caller and the cause of a translation. */
export type TranslationScope = {
  services: Dependencies;
  db: TenantDb;
  operation: TranslationOperation;
  /** For the call log. */
  caller: { userId: string | null; requestId: string | null };
  /**
   * Called before texts are sent to a provider; not for texts from the memory.
   * @returns the signal that aborts the work when no caller waits for it.
   * @throws TooManyTranslations (429), ServiceUnavailable (503)
   */
  begin(): Promise<AbortSignal>;
};

const minute = 60_000;
const requestLimits = { caller: 60, tenant: 600 };
/** Waiting requests need only memory, so many are allowed, with a limit per tenant. */
const limits = { process: 256, tenant: 64 };

export type TranslationRequest = { services: Dependencies; db: TenantDb; actor: Actor; untilAbandoned(): AbortSignal };

/**
 * Translates within a request. Only when it needs a provider, it counts once against the rate limits of the caller and the
 * tenant, and holds a permit until the end.
 */
export async function translateFor<Result>(
  { services, db, actor, untilAbandoned }: TranslationRequest,
  operation: TranslationOperation,
  work: (scope: TranslationScope) => Promise<Result>,
): Promise<Result> {
  let begun: Promise<AbortSignal> | undefined;
  let release: Release | undefined;
  const begin = async () => {
    await requestAttempt(services, { tenantId: db.tenantId, actorId: actor.id }).admit();
    release = acquirePermit(db.tenantId);
    return untilAbandoned();
  };
  const caller = { userId: actor.userId, requestId: actor.request.id };
  try {
    return await work({ services, db, operation, caller, begin: () => (begun ??= begin()) });
  } finally {
    // A permit that is acquired late must be released, too.
    await begun?.catch(() => undefined);
    release?.();
  }
}

function requestAttempt(
  services: Dependencies,
  { tenantId, actorId }: { tenantId: string; actorId: string },
): LimitedAttempt {
  return createLimitedAttempt(
    services,
    [
      { key: `translate:${tenantId}:${actorId}`, max: requestLimits.caller, windowMs: minute },
      { key: `translate:${tenantId}`, max: requestLimits.tenant, windowMs: minute },
    ],
    TooManyTranslations,
  );
}

function acquirePermit(tenantId: string): Release {
  const refusal = () => ServiceUnavailable({ retryAfterSeconds: 5 });
  return processPermits.acquireNow(
    { key: `translations of ${tenantId}`, max: limits.tenant, refusal },
    { key: 'translations', max: limits.process, refusal },
  );
}
