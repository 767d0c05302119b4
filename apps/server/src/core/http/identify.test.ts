import type { FastifyReply, FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';

import { access } from '#core/base/access/access';
import type { Principal } from '#core/base/access/principal';
import { InvalidToken } from '#core/base/errors/common-errors';
import { createCallers } from '#core/http/callers';
import { identifyAgain, type Authenticate, type Identification } from '#core/http/identify';
import type { Route } from '#core/http/route';

const rule = access.member();
const person = (id: string) =>
  ({ kind: 'user', id, tenantId: 't', permissions: new Set(), isAccountWide: true }) as unknown as Principal;

/** A request that was authenticated at revision 0; the revocation of any principal raises the revision. */
function createRequest(authenticate: Authenticate) {
  const state = { revision: 1 };
  const request = {
    headers: { authorization: 'Bearer token' },
    facts: {},
    principal: person('before'),
    principalRevision: 0,
  } as unknown as FastifyRequest;
  const services = { principals: { revision: () => state.revision } };
  const options = { authenticate, services } as unknown as Identification;
  const caller = createCallers({ identification: options } as unknown as Parameters<typeof createCallers>[0])(
    request,
    { elapsedTime: 1 } as FastifyReply,
    { access: rule, schema: {} } as unknown as Route,
  );
  return { state, request, options, currentPrincipal: () => caller.currentPrincipal() };
}

describe('identifyAgain', () => {
  it('leaves 50 parallel calls of one request their principal', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { currentPrincipal, state } = createRequest(async () => {
      await released;
      return person('after');
    });
    const calls = Array.from({ length: 50 }, (_, at) => {
      state.revision += at % 10 === 0 ? 1 : 0;
      return currentPrincipal();
    });
    release();
    for (const principal of await Promise.all(calls)) expect(principal).toMatchObject({ id: 'after' });
  });

  it('refuses all 50 parallel calls of a request whose credential was revoked', async () => {
    const { currentPrincipal } = createRequest(() => Promise.reject(InvalidToken()));
    const results = await Promise.allSettled(Array.from({ length: 50 }, currentPrincipal));
    for (const result of results) expect(result).toMatchObject({ status: 'rejected', reason: { status: 401 } });
    await expect(currentPrincipal()).rejects.toMatchObject({ status: 401 });
  });

  it('refuses a call that begins after a revocation, although an earlier check is still loading', async () => {
    const loading = Promise.withResolvers<Principal>();
    let isRevoked = false;
    const { currentPrincipal, state } = createRequest(() =>
      isRevoked ? Promise.reject(InvalidToken()) : loading.promise,
    );
    const early = currentPrincipal();
    isRevoked = true;
    state.revision += 1;
    await expect(currentPrincipal()).rejects.toMatchObject({ status: 401 });
    loading.resolve(person('before the revocation'));
    await early;
    await expect(currentPrincipal()).rejects.toMatchObject({ status: 401 });
  });

  it('keeps the result of the newer check when the older one ends later', async () => {
    const older = Promise.withResolvers<Principal>();
    const answers = [older.promise, Promise.resolve(person('newer'))];
    const { request, state, options } = createRequest(() => answers.shift()!);
    const first = identifyAgain(request, { rule, options });
    state.revision += 1;
    await identifyAgain(request, { rule, options });
    older.resolve(person('older'));
    await first;
    expect(request.principal).toMatchObject({ id: 'newer' });
  });
});
