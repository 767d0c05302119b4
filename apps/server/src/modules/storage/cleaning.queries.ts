import { sql } from 'kysely';

import { isLeaseOver } from '#core/data/db/lease';
import { lock, queryBuilder, read, write } from '#core/data/db/query';
import type { ById } from '#core/data/db/rows';
import { retired } from '#modules/storage/files.queries';

type Tables = {
  tenant_storage: { tenant_id: string; usage_bytes: number; reserved_bytes: number };
  files: {
    tenant_id: string;
    id: string;
    size_bytes: number;
    status: 'uploading' | 'stored' | 'deleting';
    lease_until: string | null;
    space_id: string | null;
    resource_id: string | null;
    contact_id: string | null;
    avatar_of: string | null;
  };
};

const builder = queryBuilder<Tables>();

// ---- remains

export type Unsettled = { tenant_id: string; id: string };

/** Abandoned uploads and deletions of all tenants. */
export const listUnsettled = read<{ max: number }, Unsettled>((p) =>
  builder
    .selectFrom('files')
    .select(['tenant_id', 'id'])
    .where('status', '<>', 'stored')
    .where(isLeaseOver)
    .orderBy('lease_until')
    .limit(p.max),
);

/** Locks one abandoned row until the end of the transaction. */
export const lockUnsettled = lock<ById, { id: string; status: 'uploading' | 'deleting'; size_bytes: number }>(
  (p) =>
    builder
      .selectFrom('files')
      .select(['id', 'status', 'size_bytes'])
      .where('tenant_id', '=', p.tenantId)
      .where('id', '=', p.id)
      .where('status', '<>', 'stored')
      .where(isLeaseOver)
      .forUpdate() as never,
);

/** Extends the lease, so that no other process claims the row before then. */
export const claim = write<ById, { id: string }>((p) =>
  builder
    .updateTable('files')
    .set(retired)
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '<>', 'stored')
    .returning('id'),
);

/** Gives up the upload; no row if it is complete or already given up. */
export const abandonUpload = write<ById, { size_bytes: number }>((p) =>
  builder
    .updateTable('files')
    .set(retired)
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '=', 'uploading')
    .returning('size_bytes'),
);

/** Whether the upload has become a file or an avatar. */
export const findStored = read<ById, { id: string }>((p) =>
  builder
    .selectFrom('files')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '=', 'stored'),
);

/** Deletes the row, after its object. */
export const deleteRow = write<ById, { id: string }>((p) =>
  builder
    .deleteFrom('files')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '=', 'deleting')
    .returning('id'),
);

// ---- counters

export const listStorages = read<{ after: string; max: number }, { tenant_id: string }>((p) =>
  builder
    .selectFrom('tenant_storage')
    .select('tenant_id')
    .where('tenant_id', '>', p.after)
    .orderBy('tenant_id')
    .limit(p.max),
);

export const lockStorage = lock<{ tenantId: string }, { tenant_id: string }>((p) =>
  builder.selectFrom('tenant_storage').select('tenant_id').where('tenant_id', '=', p.tenantId).forUpdate(),
);

export type Sums = { usage_bytes: number; reserved_bytes: number; stored: number; uploading: number };

/** The counters and their correct values, read at the same moment. */
export const compareSums = read<{ tenantId: string }, Sums>(
  (p) =>
    builder
      .selectFrom('tenant_storage')
      .select(['usage_bytes', 'reserved_bytes'])
      .select((db) =>
        db
          .selectFrom('files')
          .select(sql<number>`coalesce(sum(size_bytes), 0)::bigint`.as('sum'))
          .where('tenant_id', '=', p.tenantId)
          .where('status', '=', 'stored')
          .as('stored'),
      )
      .select((db) =>
        db
          .selectFrom('files')
          .select(sql<number>`coalesce(sum(size_bytes), 0)::bigint`.as('sum'))
          .where('tenant_id', '=', p.tenantId)
          .where('status', '=', 'uploading')
          .as('uploading'),
      )
      .where('tenant_id', '=', p.tenantId) as never,
);

export const setCounters = write<{ tenantId: string; usage: number; reserved: number }, { tenant_id: string }>((p) =>
  builder
    .updateTable('tenant_storage')
    .set({ usage_bytes: p.usage, reserved_bytes: p.reserved })
    .where('tenant_id', '=', p.tenantId)
    .returning('tenant_id'),
);
