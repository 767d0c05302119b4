import { Readable } from 'node:stream';

import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { newSha256 } from '#core/base/crypto/secrets';
import { AppError } from '#core/base/errors/app-error';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import type { Upload } from '#core/http/uploads';
import type { Services } from '#core/platform/services';
import { abandonUpload, findStored } from '#modules/storage/cleaning.queries';
import { objectKey, removeObjects } from '#modules/storage/cleaning.service';
import {
  BadContentType,
  FileTooLarge,
  QuotaExceeded,
  StorageDisabled,
  StoreUnavailable,
  UploadSuperseded,
} from '#modules/storage/files.errors';
import { insertUpload, leaseMs, renewLease, type FileRow } from '#modules/storage/files.queries';
import { figuresOf, isMediaType, ownerColumns, signatureBytes, type Owner } from '#modules/storage/files.rules';
import { findStorage, insertStorage, reserve, settle } from '#modules/storage/storage.queries';

type Dependencies = Pick<Services, 'database' | 'files' | 'log' | 'now' | 'settings'>;

export type Scope = { db: TenantDb; actor: Actor; services: Dependencies };

type Received = { id: string; sha256: string; sizeBytes: number; at: string };

type Plan = {
  name: string;
  owner: Owner | undefined;
  /** Inspects the first bytes before any is stored, and throws if they are invalid. */
  inspect?: (head: Buffer) => void;
  /** Makes the upload a file and updates the counters; no row if its lease expired. */
  complete(tx: Transaction, received: Received): Promise<FileRow | undefined>;
};

/**
 * Row, bytes, row: space is reserved before the first byte is accepted, and released unless all bytes arrive.
 * @throws FileTooLarge, BadContentType, StoreBusy, StoreFull, QuotaExceeded, StorageDisabled, StoreUnavailable,
 * UploadSuperseded; the missing owner's error through the foreign key
 */
export async function receive(scope: Scope, upload: Upload, plan: Plan): Promise<FileRow> {
  const { services } = scope;
  if (upload.sizeBytes > services.settings.fileLimitBytes) throw FileTooLarge();
  if (!isMediaType(upload.contentType)) throw BadContentType();
  const id = newId();
  const leave = await admit(scope, id, upload.sizeBytes);
  try {
    return await receiveAdmitted(scope, upload, { ...plan, id });
  } finally {
    leave();
  }
}

/** @returns a function to call when the upload ends, successfully or not. */
async function admit({ db, services }: Scope, id: string, sizeBytes: number): Promise<() => void> {
  try {
    return await services.files.admit(objectKey(db.tenantId, id), sizeBytes);
  } catch (error) {
    throw error instanceof AppError ? error : StoreUnavailable({ cause: error });
  }
}

async function receiveAdmitted(scope: Scope, upload: Upload, plan: Plan & { id: string }): Promise<FileRow> {
  const { db, services } = scope;
  const { id } = plan;
  await begin(scope, upload, plan);
  try {
    const sha256 = await transfer(scope, upload, { id, inspect: plan.inspect });
    const received = { id, sha256, sizeBytes: upload.sizeBytes, at: services.now().toISOString() };
    return await db.transaction(async (tx) => {
      const row = await plan.complete(tx, received);
      // Inside the transaction, so that a failure rolls it back.
      if (row === undefined) throw UploadSuperseded();
      return row;
    });
  } catch (error) {
    await abandon(scope, id).catch((failure: unknown) =>
      services.log.warn({ err: failure, fileId: id }, 'a failed upload is left to the clean-up job'),
    );
    throw error;
  }
}

/** The row comes first: its foreign key locks the owner, which a deletion locks before the counters too. */
async function begin(scope: Scope, upload: Upload, { id, name, owner }: Plan & { id: string }): Promise<void> {
  const { db, actor, services } = scope;
  const { tenantId } = db;
  const at = services.now().toISOString();
  await db.transaction(async (tx) => {
    await tx.all(
      insertUpload({
        tenant_id: tenantId,
        id,
        name,
        content_type: upload.contentType,
        size_bytes: upload.sizeBytes,
        sha256: null,
        ...ownerColumns(owner),
        created_by: actor.userId,
        created_at: at,
        updated_at: at,
      }),
    );
    await reserveSpace(tx, scope, upload.sizeBytes);
  });
}

async function reserveSpace(tx: Transaction, { db, services }: Scope, sizeBytes: number): Promise<void> {
  const { tenantId } = db;
  const { defaultQuotaBytes } = services.settings;
  const reservation = reserve({ tenantId, sizeBytes, defaultQuotaBytes });
  if ((await tx.first(reservation)) !== undefined) return;
  // The first file of a tenant, or one of several at once while another one creates the row.
  await tx.all(insertStorage({ tenantId, at: services.now().toISOString() }));
  if ((await tx.first(reservation)) !== undefined) return;
  const state = await tx.first(findStorage({ tenantId }));
  if (state?.enabled === false) throw StorageDisabled();
  const { quota_bytes, available_bytes } = figuresOf(state, defaultQuotaBytes);
  throw QuotaExceeded({ details: { quota_bytes, available_bytes, size_bytes: sizeBytes } });
}

type Transfer = { id: string; inspect: Plan['inspect'] };

/** @returns the SHA-256 hash of the stored bytes, in hex. */
async function transfer({ db, services }: Scope, upload: Upload, { id, inspect }: Transfer): Promise<string> {
  const hash = newSha256();
  let senderFailure: unknown;
  async function* checked() {
    try {
      for await (const chunk of startingWith(upload.stream, inspect)) {
        hash.update(chunk);
        yield chunk;
      }
    } catch (error) {
      senderFailure = error;
      throw error;
    }
  }
  const source = Readable.from(checked(), { objectMode: false });
  const lease = holdLease({ db, services }, id, () => {
    senderFailure = UploadSuperseded();
    source.destroy(senderFailure as Error);
  });
  try {
    await services.files.put(objectKey(db.tenantId, id), source, upload.sizeBytes);
    return hash.hex();
  } catch (error) {
    if (senderFailure instanceof AppError) throw senderFailure;
    throw error instanceof AppError ? error : StoreUnavailable({ cause: error });
  } finally {
    await lease.end();
  }
}

async function* startingWith(stream: Readable, inspect: Plan['inspect']): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = inspect === undefined ? undefined : Buffer.alloc(0);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (head === undefined) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < signatureBytes) continue;
    inspect!(head);
    yield head;
    head = undefined;
  }
  if (head === undefined) return;
  inspect!(head);
  yield head;
}

/** Renews the lease of the upload; calls `onLost` if the sweep has given up the upload anyway. */
function holdLease({ db, services }: Pick<Scope, 'db' | 'services'>, id: string, onLost: () => void) {
  let running: Promise<void> = Promise.resolve();
  const renew = async () => {
    if ((await db.interactive.first(renewLease({ tenantId: db.tenantId, id }))) === undefined) onLost();
  };
  const timer = setInterval(() => {
    running = renew().catch((error: unknown) =>
      services.log.warn({ err: error, fileId: id }, 'the lease of an upload could not be renewed'),
    );
  }, leaseMs / 4).unref();
  return {
    async end() {
      clearInterval(timer);
      await running;
    },
  };
}

/** Releases the space and removes the bytes, unless the upload has become a file. */
async function abandon({ db, services }: Scope, id: string): Promise<void> {
  const { tenantId } = db;
  const isFile = await db.transaction(async (tx) => {
    const row = await tx.first(abandonUpload({ tenantId, id }));
    if (row !== undefined) await tx.all(settle({ tenantId, usage: 0, reserved: -row.size_bytes }));
    return row === undefined && (await tx.first(findStored({ tenantId, id }))) !== undefined;
  });
  // Without a row, the sweep has given up the upload, and the object may have arrived after that.
  if (!isFile) void removeObjects(services, tenantId, [id]);
}
