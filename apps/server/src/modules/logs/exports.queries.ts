import { queryBuilder, read, write } from '#core/data/db/query';

export type LogExportRow = {
  name: string;
  id: string;
  size_bytes: number | null;
  record_count: number | null;
  created_by: string | null;
  created_at: string;
  expires_at: string;
};

/** A complete export. */
export type StoredExport = LogExportRow & { size_bytes: number; record_count: number };

const builder = queryBuilder<{ log_exports: LogExportRow }>();

export const insertExport = write<{ name: string; id: string; by: string; at: string; expiresAt: string }, never>((p) =>
  builder.insertInto('log_exports').values({
    name: p.name,
    id: p.id,
    size_bytes: null,
    record_count: null,
    created_by: p.by,
    created_at: p.at,
    expires_at: p.expiresAt,
  }),
);

export const completeExport = write<{ name: string; sizeBytes: number; recordCount: number }, LogExportRow>((p) =>
  builder
    .updateTable('log_exports')
    .set({ size_bytes: p.sizeBytes, record_count: p.recordCount })
    .where('name', '=', p.name)
    .returningAll(),
);

export const listStoredExports = read<{ now: string; max: number }, StoredExport>((p) =>
  builder
    .selectFrom('log_exports')
    .selectAll()
    .where('size_bytes', 'is not', null)
    .where('expires_at', '>', p.now)
    .orderBy('created_at', 'desc')
    .orderBy('name', 'desc')
    .limit(p.max)
    .$castTo<StoredExport>(),
);

export const findStoredExport = read<{ name: string; now: string }, StoredExport>((p) =>
  builder
    .selectFrom('log_exports')
    .selectAll()
    .where('name', '=', p.name)
    .where('size_bytes', 'is not', null)
    .where('expires_at', '>', p.now)
    .$castTo<StoredExport>(),
);

export const deleteExportRow = write<{ name: string }, LogExportRow>((p) =>
  builder.deleteFrom('log_exports').where('name', '=', p.name).returningAll(),
);

/** Expired exports, and incomplete ones that are too old to be still written. */
export const listDeadExports = read<{ now: string; begunBefore: string; max: number }, LogExportRow>((p) =>
  builder
    .selectFrom('log_exports')
    .selectAll()
    .where((is) =>
      is.or([
        is('expires_at', '<=', p.now),
        is.and([is('size_bytes', 'is', null), is('created_at', '<', p.begunBefore)]),
      ]),
    )
    .orderBy('created_at')
    .limit(p.max),
);
