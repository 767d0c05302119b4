import { newId } from '#core/base/crypto/ids';
import { keyedHash } from '#core/base/crypto/secrets';
import { tookNoEffect } from '#core/data/db/sql-state';
import {
  IdempotencyAnswerTooLong,
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  IdempotencyOutcomeUnknown,
} from '#core/http/idempotency/idempotency.errors';
import {
  claimKey,
  findKey,
  deleteExpiredKey,
  releaseKey,
  recordKeyOutcome,
  type FoundKey,
} from '#core/http/idempotency/idempotency.queries';
import type { Services } from '#core/platform/services';

const retentionMs = 24 * 60 * 60_000;
const maxAnswerBytes = 256 * 1024;

/** The answer, byte for byte; `body` is null if the answer has no body. */
export type StoredAnswer = { status: number; headers: Readonly<Record<string, string>>; body: string | null };

/** The exclusive right of one request to perform the operation and to record its outcome. */
export type KeyClaim = { tenantId: string; scope: string; claim: string };

export type KeyedRequest = {
  tenantId: string;
  /** Caller, operation and key. */
  scopeText: string;
  payloadText: string;
  /** Time after which other requests treat the request as lost. */
  leaseMs: number;
};

export type IdempotencyKeys = {
  /**
   * @returns a claim if the key was not used within a day, else the stored answer
   * @throws IdempotencyKeyInUse, IdempotencyKeyReused, IdempotencyOutcomeUnknown, IdempotencyAnswerTooLong
   */
  claim(request: KeyedRequest): Promise<KeyClaim | StoredAnswer>;
  /** Stores the answer for replays. */
  store(claim: KeyClaim, answer: StoredAnswer): Promise<void>;
  /** Refuses every retry, since the operation may have been done. */
  markUnknown(claim: KeyClaim): Promise<void>;
  /** Allows a retry, since the operation certainly was not done. */
  release(claim: KeyClaim): Promise<void>;
};

export function createIdempotencyKeys({
  database,
  encryption,
  now,
}: Pick<Services, 'database' | 'encryption' | 'now'>): IdempotencyKeys {
  const secret = encryption.keyFor('idempotency keys');
  const dbOf = ({ tenantId }: Pick<KeyClaim, 'tenantId'>) => database.tenant(tenantId).interactive;

  async function claimOrFind(wanted: KeyClaim, { fingerprint, leaseMs }: { fingerprint: string; leaseMs: number }) {
    const at = now();
    const times = { at: at.toISOString(), expiresAt: new Date(at.getTime() + retentionMs).toISOString() };
    const claim = claimKey({ ...wanted, ...times, fingerprint, leaseMs });
    const find = findKey({ ...wanted, ...times });
    const [claimed, [found]] = await dbOf(wanted).batch([claim, find]);
    if (claimed.length > 0 || found?.is_expired !== true) return { isClaimed: claimed.length > 0, found };
    const [, again, [renewed]] = await dbOf(wanted).batch([deleteExpiredKey({ ...wanted, ...times }), claim, find]);
    return { isClaimed: again.length > 0, found: renewed };
  }

  return {
    async claim({ tenantId, leaseMs, ...texts }) {
      const scope = keyedHash(secret, texts.scopeText);
      const fingerprint = keyedHash(secret, texts.payloadText);
      const wanted = { tenantId, scope, claim: newId() };
      const { isClaimed, found } = await claimOrFind(wanted, { fingerprint, leaseMs }).catch((error: unknown) => {
        // It may have been claimed all the same, and nothing has begun.
        if (!tookNoEffect(error))
          dbOf(wanted)
            .all(releaseKey(wanted))
            .catch(() => undefined);
        throw error;
      });
      if (isClaimed) return wanted;
      // The row of a moment ago was released.
      if (found === undefined) throw IdempotencyKeyInUse();
      assertAnswered(found, fingerprint);
      return JSON.parse(encryption.decrypt(found.sealed_answer, encryptionContextOf(wanted))) as StoredAnswer;
    },
    async store(claim, answer) {
      const plain = JSON.stringify(answer);
      const isTooLong = Buffer.byteLength(answer.body ?? '') > maxAnswerBytes;
      const outcome = isTooLong
        ? ({ state: 'too_long', sealedAnswer: null } as const)
        : ({ state: 'answered', sealedAnswer: encryption.encrypt(plain, encryptionContextOf(claim)) } as const);
      await dbOf(claim).all(recordKeyOutcome({ ...claim, ...outcome }));
    },
    async markUnknown(claim) {
      await dbOf(claim).all(recordKeyOutcome({ ...claim, state: 'unknown', sealedAnswer: null }));
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
  if (found.state === 'claimed') throw IdempotencyKeyInUse();
}

function encryptionContextOf({ tenantId, scope }: KeyClaim): string {
  return `idempotency_keys.sealed_answer:${tenantId}/${scope}`;
}
