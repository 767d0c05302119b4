import Type from 'typebox';
import { describe, expect, it } from 'vitest';

import { Uuid, closed, nullable, paging, sortable } from '#core/base/schemas';
import { fieldSpellings, idFolding } from '#core/http/spellings';

const id = '01890a5d-ac96-774b-bcce-b302099a8057';
const upper = id.toUpperCase();

describe('fieldSpellings', () => {
  const schema = Type.Object({
    ...paging,
    sort: sortable(['name', 'created_at', 'lastUsedAt']),
    user_id: Type.Optional(Uuid),
    startTime: Type.Optional(Type.String()),
  });
  const respell = fieldSpellings(schema);
  const respelled = (query: Record<string, unknown>) => {
    respell(query);
    return query;
  };

  it.each([
    ['userId', 'user_id'],
    ['user_id', 'user_id'],
    ['start_time', 'startTime'],
    ['startTime', 'startTime'],
    ['Limit', 'limit'],
  ])('%s is %s', (given, name) => {
    expect(respelled({ [given]: 'x' })).toMatchObject({ [name]: 'x' });
  });

  it.each([
    ['createdAt', 'created_at'],
    ['-createdAt', '-created_at'],
    ['created_at', 'created_at'],
    ['last_used_at', 'lastUsedAt'],
    ['-last_used_at', '-lastUsedAt'],
    ['-name', '-name'],
  ])('sort=%s is sort=%s', (given, sort) => {
    expect(respelled({ sort: given })).toEqual({ sort });
  });

  it.each(['NAME', '-Name', 'CreatedAt', 'CREATED_AT', 'createdat', 'created__at', '_created_at'])(
    'refuses sort=%s, which is the name of a field in another case',
    (sort) => {
      expect(respelled({ sort })).toEqual({ sort });
    },
  );

  it.each(['--createdAt', 'created-at', 'created at', '', '-', '__proto__'])('sort=%s stays', (sort) => {
    expect(respelled({ sort })).toEqual({ sort });
  });

  it('the spelling of the schema wins over the other one', () => {
    expect(respelled({ userId: 'other', user_id: 'own' }).user_id).toBe('own');
  });

  it('knows nothing of what is in no schema, and adds nothing', () => {
    expect(respelled({ noSuchThing: '1', __proto__: '2' })).toEqual({ noSuchThing: '1' });
    expect(respelled({ sort: ['createdAt', 'createdAt'] })).toEqual({ sort: ['createdAt', 'createdAt'] });
    const query = { createdAt: '1' };
    fieldSpellings(undefined)(query);
    expect(query).toEqual({ createdAt: '1' });
  });
});

describe('idFolding', () => {
  it('lower-cases ids wherever the schema has them, and nothing else', () => {
    const schema = closed({
      id: Uuid,
      parent: Type.Optional(nullable(Uuid)),
      ids: Type.Array(Uuid, { maxItems: 5 }),
      inner: closed({ id: Uuid, name: Type.String() }),
      list: Type.Array(closed({ id: Uuid }), { maxItems: 5 }),
      name: Type.String(),
    });
    const body = {
      id: upper,
      parent: upper,
      ids: [upper, id],
      inner: { id: upper, name: upper },
      list: [{ id: upper }],
      name: upper,
    };
    idFolding(schema)(body);
    expect(body).toEqual({
      id,
      parent: id,
      ids: [id, id],
      inner: { id, name: upper },
      list: [{ id }],
      name: upper,
    });
  });

  it('leaves what may be an id and is something else', () => {
    const schema = closed({ parent: Type.Union([Uuid, Type.Literal('NULL')]), other: Type.Optional(nullable(Uuid)) });
    const query = { parent: 'NULL', other: null };
    idFolding(schema)(query);
    expect(query).toEqual({ parent: 'NULL', other: null });
    idFolding(schema)(null);
    expect(query).not.toHaveProperty('id');
  });

  it('folds in each of several shapes', () => {
    const schema = Type.Union([closed({ userId: Uuid }), closed({ groupId: Uuid })]);
    const [first, second] = [{ userId: upper }, { groupId: upper }];
    idFolding(schema)(first);
    idFolding(schema)(second);
    expect([first, second]).toEqual([{ userId: id }, { groupId: id }]);
  });
});
