import { sql } from 'kysely';

import { fromNow, isLeaseOver } from '#core/data/db/lease';
import { queryBuilder, read, write } from '#core/data/db/query';

type Tables = {
  idempotency_keys: {
    tenant_id: string;
    scope: string;
    fingerprint: string;
    claim: string;
    state: 'claimed' | 'answered' | 'unknown' | 'too_long';
    sealed_answer: string | null;
    lease_until: string;
    expires_at: string;
  };
};

type Keys = Tables['idempotency_keys'];
type Key = { tenantId: string; scope: string };

/** A row as it is at a moment. */
export type FoundKey = Pick<Keys, 'fingerprint' | 'state' | 'sealed_answer'> & {
  is_abandoned: boolean;
  is_expired: boolean;
};

const builder = queryBuilder<Tables>();

/** Returns no row if another request holds the key. */
export const claimKey = write<
  Key & { fingerprint: string; claim: string; leaseMs: number; expiresAt: string },
  { claim: string }
>((p) =>
  builder
    .insertInto('idempotency_keys')
    .values({
      tenant_id: p.tenantId,
      scope: p.scope,
      fingerprint: p.fingerprint,
      claim: p.claim,
      state: 'claimed',
      sealed_answer: null,
      lease_until: fromNow(p.leaseMs),
      expires_at: p.expiresAt,
    })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'scope']).doNothing())
    .returning('claim'),
);

export const findKey = read<Key & { at: string }, FoundKey>(
  (p) =>
    builder
      .selectFrom('idempotency_keys')
      .select((eb) => [
        'fingerprint',
        'state',
        'sealed_answer',
        isLeaseOver.as('is_abandoned'),
        eb('expires_at', '<=', p.at).as('is_expired'),
      ])
      .where('tenant_id', '=', p.tenantId)
      .where('scope', '=', p.scope) as never,
);

/** Makes an expired key usable again. */
export const deleteExpiredKey = write<Key & { at: string }, never>((p) =>
  builder
    .deleteFrom('idempotency_keys')
    .where('tenant_id', '=', p.tenantId)
    .where('scope', '=', p.scope)
    .where('expires_at', '<=', p.at),
);

/** Records the final outcome of a claim. */
export const recordKeyOutcome = write<
  Key & { claim: string; state: Exclude<Keys['state'], 'claimed'>; sealedAnswer: string | null },
  never
>((p) =>
  builder
    .updateTable('idempotency_keys')
    .set({ state: p.state, sealed_answer: p.sealedAnswer })
    .where('tenant_id', '=', p.tenantId)
    .where('scope', '=', p.scope)
    .where('claim', '=', p.claim),
);

/** Ends a claim without an outcome. */
export const releaseKey = write<Key & { claim: string }, never>((p) =>
  builder
    .deleteFrom('idempotency_keys')
    .where('tenant_id', '=', p.tenantId)
    .where('scope', '=', p.scope)
    .where('claim', '=', p.claim),
);

/** Housekeeping over all tenants: deletes expired keys. */
export const deleteExpiredKeys = write<{ before: string; max: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('idempotency_keys')
    .where(({ eb, refTuple, selectFrom }) => {
      const key = ['tenant_id', 'scope'] as const;
      const old = selectFrom('idempotency_keys').select(key).where('expires_at', '<=', p.before).limit(p.max);
      return eb(refTuple(...key), 'in', old.$asTuple(...key));
    })
    .returning(sql<number>`1`.as('deleted')),
);
