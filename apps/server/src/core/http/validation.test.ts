import Type from 'typebox';
import { describe, expect, it } from 'vitest';

import { access } from '#core/base/access/access';
import type { AppError } from '#core/base/errors/app-error';
import { IdParams, Uuid, closed, nullable, paging, sortable } from '#core/base/schemas';
import { defineRoute } from '#core/http/route';
import { createCheck, createRequestValidator } from '#core/http/validation';

const id = '01890a5d-ac96-774b-bcce-b302099a8057';
const upper = id.toUpperCase();

const validate = createRequestValidator(
  defineRoute({
    method: 'POST',
    path: '/planted/{id}',
    operationId: 'planted',
    summary: '',
    access: access.member(),
    schema: {
      params: IdParams,
      query: Type.Object({ ...paging, sort: sortable(['created_at']), parent_id: Type.Optional(nullable(Uuid)) }),
      body: closed({
        ownerId: Uuid,
        name: Type.Optional(Type.String({ maxLength: 5 })),
        ids: Type.Optional(Type.Array(Uuid, { uniqueItems: true })),
      }),
      response: { 204: null },
    },
    audit: { none: 'planted' },
    handler: () => undefined,
  }),
);

function validated(parts: { params?: object; query?: object; body?: unknown }) {
  const all = { params: { id }, query: {}, body: { ownerId: id }, form: undefined, ...parts };
  validate(all);
  return all;
}

describe('createRequestValidator', () => {
  it('leaves ids in lower case behind, wherever they come from', () => {
    const parts = { params: { id: upper }, query: { parentId: upper }, body: { ownerId: upper } };
    expect(validated(parts)).toMatchObject({
      params: { id },
      query: { parent_id: id },
      body: { ownerId: id },
    });
  });

  it('takes fields by both names, and fills in what is not given', () => {
    expect(validated({ query: { sort: '-createdAt', limit: '5' } }).query).toEqual({
      sort: '-created_at',
      limit: 5,
      offset: 0,
    });
  });

  it('says what is wrong and where, and never repeats it', () => {
    for (const [parts, path] of [
      [{ params: { id: 'secret' } }, 'params.id'],
      [{ query: { sort: 'secret' } }, 'query.sort'],
      [{ query: { parentId: 'secret' } }, 'query.parent_id'],
      [{ body: { ownerId: 'secret' } }, 'body.ownerId'],
      [{ body: {} }, 'body.ownerId'],
      [{ body: { ownerId: id, name: 'secret' } }, 'body.name'],
      [{ body: { ownerId: id, other: 'secret' } }, 'body.other'],
    ] as const) {
      const caught = catchError(() => validated(parts));
      expect(caught).toMatchObject({ code: 'VALIDATION_ERROR', message: expect.stringContaining(`${path}: `) });
      const { message, details } = caught as AppError;
      expect(`${message} ${JSON.stringify(details)}`).not.toContain('secret');
    }
  });
});

it('a list that names something twice is told in our words', () => {
  const message = 'body.ids: must not list anything twice.';
  expect(catchError(() => validated({ body: { ownerId: id, ids: [id, id] } }))).toMatchObject({ message });
});

it('a check of a value names the property that is unknown or missing, and not what it is in', () => {
  const check = createCheck(closed({ one: Type.Optional(closed({ two: Type.Integer() })) }));
  expect(check({ one: { two: 2, three: 3 } })).toMatchObject({ path: '.one.three' });
  expect(check({ one: {} })).toMatchObject({ path: '.one.two' });
  expect(check({ four: 4 })).toMatchObject({ path: '.four' });
  expect(check([])).toMatchObject({ path: '' });
  expect(check({ one: { two: 2 } })).toBe(undefined);
});

function catchError(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
