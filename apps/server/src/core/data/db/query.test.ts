import { describe, expect, it } from 'vitest';

import {
  auditedWrite,
  lock,
  queryBuilder,
  read,
  searchPatterns,
  toAuditedWrite,
  toRead,
  write,
  type Audited,
} from '#core/data/db/query';

const builder = queryBuilder<{ things: { tenant_id: string; id: string; note: string | null } }>();

describe('a declared statement', () => {
  it('builds once and only exchanges the values', () => {
    let builds = 0;
    const find = read<{ tenantId: string; id: string }, { id: string }>((p) => {
      builds += 1;
      return builder.selectFrom('things').select('id').where('id', '=', p.id).where('tenant_id', '=', p.tenantId);
    });
    expect(find({ tenantId: 't1', id: 'a' })).toEqual({
      kind: 'read',
      text: 'select "id" from "things" where "id" = $1 and "tenant_id" = $2',
      values: ['a', 't1'],
      prepare: true,
    });
    expect(find({ tenantId: 't2', id: 'b' }).values).toEqual(['b', 't2']);
    expect(builds).toBe(1);
  });

  it('keeps values that are part of the statement', () => {
    const insert = write<{ id: string }, never>((p) =>
      builder.insertInto('things').values({ tenant_id: 'fixed', id: p.id, note: null }),
    );
    expect(insert({ id: 'x' }).values).toEqual(['fixed', 'x', null]);
  });
});

it('carries what it was declared as', () => {
  const things = builder.selectFrom('things').select('id');
  const kinds = [read(() => things), lock(() => things.forUpdate()), write(() => builder.deleteFrom('things'))].map(
    (declared) => declared({}).kind,
  );
  expect(kinds).toEqual(['read', 'lock', 'write']);
  const change = things as unknown as Audited<{ id: string }>;
  expect([auditedWrite(() => change)({}).kind, toAuditedWrite(change).kind]).toEqual(['audited', 'audited']);
});

it('toRead leaves texts that depend on the request unprepared', () => {
  expect(toRead(builder.selectFrom('things').select('id').where('note', '=', 'n')).prepare).toBe(false);
});

describe('searchPatterns', () => {
  it('takes each word literally', () => {
    expect(searchPatterns('  Ada  100%_\\ ')).toEqual(['%Ada%', '%100\\%\\_\\\\%']);
    expect(searchPatterns(undefined)).toEqual([]);
    expect(searchPatterns('a b c d e f g h i j k l')).toHaveLength(10);
  });
});
