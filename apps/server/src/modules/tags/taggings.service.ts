import type { Actor } from '#core/base/access/principal';
import type { ErrorDefinition } from '#core/base/errors/app-error';
import { auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import { toPage, type SetHeader } from '#core/http/paging';
import { resourceTagging, spaceTagging, type TaggingQueries } from '#modules/tags/taggings.queries';
import { ResourceNotFound, SpaceNotFound, TagNotFound } from '#modules/tags/tags.errors';
import { findTag } from '#modules/tags/tags.queries';
import type { ListEntityTagsQuery } from '#modules/tags/tags.schemas';
import { presentTag } from '#modules/tags/tags.service';

type Scope = { db: TenantDb; actor: Actor; now: () => Date };

/** A kind of record that can have tags. */
type Taggable = { queries: TaggingQueries; NotFound: ErrorDefinition };

export const taggable = {
  space: { queries: spaceTagging, NotFound: SpaceNotFound },
  resource: { queries: resourceTagging, NotFound: ResourceNotFound },
} as const satisfies Record<string, Taggable>;

/** @throws the NotFound error of the kind */
export async function listTagsOf(
  { db, setHeader }: { db: TenantDb; setHeader: SetHeader },
  { queries, NotFound }: Taggable,
  id: string,
  { limit = 50, offset = 0 }: ListEntityTagsQuery,
) {
  const { tenantId } = db;
  const [entities, rows, [counted]] = await db.interactive.batch([
    queries.findEntity({ tenantId, id }),
    queries.listTags({ tenantId, id, limit, offset }),
    queries.countTags({ tenantId, id }),
  ]);
  if (entities.length === 0) throw NotFound();
  return toPage(rows.map(presentTag), { limit, offset }, { total: counted!.total, isCapped: false }, setHeader);
}

/** Adding an existing tag changes nothing. @throws the NotFound error of the kind, TagNotFound (both through the foreign keys) */
export async function addTagTo(
  { db, actor, now }: Scope,
  { queries }: Taggable,
  { id, tagId }: { id: string; tagId: string },
): Promise<void> {
  const at = now().toISOString();
  await db.interactive.first(queries.addTag({ id, tagId, at, ...auditParams(actor, at, { tagId }) }));
}

/** Removing a missing tag changes nothing. @throws the NotFound error of the kind, TagNotFound */
export async function removeTagFrom(
  { db, actor, now }: Scope,
  { queries, NotFound }: Taggable,
  { id, tagId }: { id: string; tagId: string },
): Promise<void> {
  const { tenantId } = db;
  const audit = auditParams(actor, now().toISOString(), { tagId });
  const [entities, tags] = await db.interactive.batch([
    queries.findEntity({ tenantId, id }),
    findTag({ tenantId, id: tagId }),
    queries.removeTag({ id, tagId, ...audit }),
  ]);
  if (entities.length === 0) throw NotFound();
  if (tags.length === 0) throw TagNotFound();
}
