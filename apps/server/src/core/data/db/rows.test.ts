import { describe, expect, it } from 'vitest';

import { auditParams } from '#core/data/audit/audit.queries';
import { deleteRow, insertRow, updateRow } from '#core/data/audit/audited-rows.queries';
import {
  anyReferrer,
  deleteById,
  flag,
  lockById,
  lockByIds,
  rowById,
  rowsByIds,
  sharedTenantLock,
  tenantLock,
  tenantTable,
  text,
  uuid,
} from '#core/data/db/rows';
import { translatableTexts } from '#core/data/db/translatable-texts';
import { treeOf } from '#core/data/db/trees';

const spaces = tenantTable('spaces', { tenant_id: uuid, id: uuid, parent_id: uuid.orNull, name: text, busy: flag });
const people = tenantTable('users', { id: uuid }, ['status', '<>', 'deleted'], ['left_at', 'is', null]);
const one = { tenantId: 't', id: 'i' };
const some = { tenantId: 't', ids: ['i', 'j'] };
const columns = '"tenant_id", "id", "parent_id", "name", "busy"';

describe('statements by id', () => {
  it.each([
    ['read', rowById(spaces)(one), `select ${columns} from "spaces" where "tenant_id" = $1 and "id" = $2`],
    [
      'read',
      rowById(spaces, 'name', 'id')(one),
      'select "name", "id" from "spaces" where "tenant_id" = $1 and "id" = $2',
    ],
    ['read', rowById(tenantTable('spaces'))(one), 'select "id" from "spaces" where "tenant_id" = $1 and "id" = $2'],
    [
      'read',
      rowsByIds(spaces, 'id')(some),
      'select "id" from "spaces" where "tenant_id" = $1 and id = any($2::uuid[])',
    ],
    [
      'lock',
      lockById(spaces, 'for key share', 'id')(one),
      'select "id" from "spaces" where "tenant_id" = $1 and "id" = $2 for key share',
    ],
    [
      'lock',
      lockByIds(spaces, 'for no key update', 'id')(some),
      'select "id" from "spaces" where "tenant_id" = $1 and id = any($2::uuid[]) order by "id" for no key update',
    ],
    [
      'read',
      anyReferrer(spaces, 'parent_id')(one),
      'select "id" from "spaces" where "tenant_id" = $1 and "parent_id" = $2 limit $3',
    ],
    ['write', deleteById(spaces)(one), 'delete from "spaces" where "tenant_id" = $1 and "id" = $2'],
    [
      'lock',
      tenantLock('moves')({ tenantId: 't' }),
      "select pg_advisory_xact_lock(hashtextextended('moves:' || $1::text, 0))",
    ],
    [
      'lock',
      sharedTenantLock('moves')({ tenantId: 't' }),
      "select pg_advisory_xact_lock_shared(hashtextextended('moves:' || $1::text, 0))",
    ],
  ])('%s %#', (kind, statement, sql) => {
    expect(statement).toMatchObject({ kind, text: sql, prepare: true });
  });

  it('apply the conditions of the table after the id', () => {
    expect(lockById(people, 'for update')(one)).toMatchObject({
      text: 'select "id" from "users" where "tenant_id" = $1 and "id" = $2 and "status" <> $3 and "left_at" is null for update',
      values: ['t', 'i', 'deleted'],
    });
  });
});

it('an ancestor is found within one tenant', () => {
  expect(treeOf(spaces).isWithin({ ...one, ancestorId: 'a' })).toMatchObject({
    kind: 'read',
    text: expect.stringMatching(/where "tenant_id" = \$1 and "id" = \$2 union .* where "spaces"."tenant_id" = \$3\)/),
    values: ['t', 'i', 't', 'a'],
  });
});

it('texts are written without their author if the table has none', () => {
  const change = { tenantId: 't', translations: {}, at: 'now', userId: 'u' };
  const row = { id: 'i', name: 'n', translations: {} };
  const named = { tenant_id: uuid, id: uuid, name: text, translations_i18n: text, updated_at: text };
  const [tags, places] = [tenantTable('tags', named), tenantTable('spaces', { ...named, updated_by: uuid.orNull })];
  expect(translatableTexts(tags as never).write(row, change).text).toBe(
    'update "tags" set "translations_i18n" = $1, "updated_at" = $2 where "tenant_id" = $3 and "id" = $4 returning "id"',
  );
  expect(translatableTexts(places as never).write(row, change).values).toEqual([{}, 'now', 'u', 't', 'i']);
});

describe('audited rows', () => {
  const request = { id: 'r', ip: '::1', userAgent: null, receivedAt: 0 };
  const audit = auditParams({ kind: 'user', id: 'u', tenantId: 't', userId: 'u', request } as never, 'now');
  const event = { action: 'space.changed', resourceType: 'space' };

  it('have the tenant of their audit row, and are counted where the table is', () => {
    const row = { id: 'i', parent_id: null, name: 'n', busy: true };
    const insertion = insertRow(spaces, event, 'id')({ ...row, ...audit });
    expect(insertion.text).toContain('insert into "spaces" ("tenant_id", "id", "parent_id", "name", "busy") values');
    expect(insertion.text).toContain('insert into "row_counts"');
    expect(insertion.values.slice(0, 5)).toEqual(['t', 'i', null, 'n', true]);
    expect(deleteRow(spaces, event)({ id: 'i', ...audit }).values.at(-1)).toBe(-1);
    expect(deleteRow(tenantTable('groups'), event)({ id: 'i', ...audit }).text).not.toContain('row_counts');
  });

  it('change within their tenant', () => {
    expect(updateRow(spaces, event, 'id')('i', { name: 'n' }, audit)).toMatchObject({
      kind: 'audited',
      text: expect.stringContaining(
        'update "spaces" set "name" = $1 where "tenant_id" = $2 and "id" = $3 returning "id"',
      ),
      prepare: false,
    });
  });
});
