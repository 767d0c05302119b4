import { newId } from '#core/crypto/ids';
import { keyedHash } from '#core/crypto/secrets';
import { tookNoEffect } from '#core/db/sql-state';
import {
  IdempotencyAnswerTooLong,
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  IdempotencyOutcomeUnknown,
} from '#core/http/idempotency/idempotency.errors';
import {
  claimKey,
  findKey,
  forgetExpiredKey,
  releaseKey,
  settleKey,
  type FoundKey,
} from '#core/http/idempotency/idempotency.queries';
import type { Services } from '#core/services';

const keptMs = 24 * 60 * 60_000;
const maxAnswerBytes = 256 * 1024;

/** What was answered, to the byte; `body` is null where there is none. */
export type KeptAnswer = { status: number; headers: Readonly<Record<string, string>>; body: string | null };

/** The right of one request, and of no other, to do what the key stands for and to say what came of it. */
export type Claim = { tenantId: string; scope: string; claim: string };

export type KeyedRequest = {
  tenantId: string;
  /** Who calls what, with which key. */
  scopeText: string;
  payloadText: string;
  /** How long it may take before others take it for lost. */
  leaseMs: number;
};

export type IdempotencyKeys = {
  /**
   * A claim where nobody has used the key for a day, or what was answered to whoever did.
   * @throws IdempotencyKeyInUse, IdempotencyKeyReused, IdempotencyOutcomeUnknown, IdempotencyAnswerTooLong
   */
  claim(request: KeyedRequest): Promise<Claim | KeptAnswer>;
  /** Keeps the answer for whoever sends the same again. */
  keep(claim: Claim, answer: KeptAnswer): Promise<void>;
  /** Lets nobody do it again, since it may have been done. */
  leaveUnknown(claim: Claim): Promise<void>;
  /** Lets it be done by whoever sends it next, since it certainly was not. */
  release(claim: Claim): Promise<void>;
};

export function createIdempotencyKeys({
  database,
  encryption,
  now,
}: Pick<Services, 'database' | 'encryption' | 'now'>): IdempotencyKeys {
  const secret = encryption.keyFor('idempotency keys');
  const dbOf = ({ tenantId }: Pick<Claim, 'tenantId'>) => database.tenant(tenantId).slow;

  async function fly(wanted: Claim, { fingerprint, leaseMs }: { fingerprint: string; leaseMs: number }) {
    const at = now().getTime();
    const after = (ms: number) => new Date(at + ms).toISOString();
    const times = { at: after(0), leaseEndsAt: after(leaseMs), expiresAt: after(keptMs) };
    const claim = claimKey({ ...wanted, ...times, fingerprint });
    const find = findKey({ ...wanted, ...times });
    const [claimed, [found]] = await dbOf(wanted).flight([claim, find]);
    if (claimed.length > 0 || found?.is_expired !== true) return { isClaimed: claimed.length > 0, found };
    const [, again, [renewed]] = await dbOf(wanted).flight([forgetExpiredKey({ ...wanted, ...times }), claim, find]);
    return { isClaimed: again.length > 0, found: renewed };
  }

  return {
    async claim({ tenantId, leaseMs, ...texts }) {
      const scope = keyedHash(secret, texts.scopeText);
      const fingerprint = keyedHash(secret, texts.payloadText);
      const wanted = { tenantId, scope, claim: newId() };
      const { isClaimed, found } = await fly(wanted, { fingerprint, leaseMs }).catch((error: unknown) => {
        // It may have been claimed all the same, and nothing has begun.
        if (!tookNoEffect(error))
          dbOf(wanted)
            .all(releaseKey(wanted))
            .catch(() => undefined);
        throw error;
      });
      if (isClaimed) return wanted;
      // What was there a moment ago has been released.
      if (found === undefined) throw IdempotencyKeyInUse({ retryAfterSeconds: 1 });
      assertAnswered(found, fingerprint);
      return JSON.parse(encryption.decrypt(found.sealed_answer, placeOf(wanted))) as KeptAnswer;
    },
    async keep(claim, answer) {
      const plain = JSON.stringify(answer);
      const isTooLong = Buffer.byteLength(answer.body ?? '') > maxAnswerBytes;
      const outcome = isTooLong
        ? ({ state: 'too_long', sealedAnswer: null } as const)
        : ({ state: 'answered', sealedAnswer: encryption.encrypt(plain, placeOf(claim)) } as const);
      await dbOf(claim).all(settleKey({ ...claim, ...outcome }));
    },
    async leaveUnknown(claim) {
      await dbOf(claim).all(settleKey({ ...claim, state: 'unknown', sealedAnswer: null }));
    },
    async release(claim) {
      await dbOf(claim).all(releaseKey(claim));
    },
  };
}

function assertAnswered(
  found: FoundKey,
  fingerprint: string,
): asserts found is FoundKey & { state: 'answered'; sealed_answer: string } {
  if (found.fingerprint !== fingerprint) throw IdempotencyKeyReused();
  if (found.state === 'too_long') throw IdempotencyAnswerTooLong();
  if (found.state === 'unknown' || (found.state === 'claimed' && found.is_abandoned)) throw IdempotencyOutcomeUnknown();
  if (found.state === 'claimed') throw IdempotencyKeyInUse({ retryAfterSeconds: 1 });
}

function placeOf({ tenantId, scope }: Claim): string {
  return `idempotency_keys.sealed_answer:${tenantId}/${scope}`;
}
