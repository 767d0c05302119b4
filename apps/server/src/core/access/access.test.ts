import { describe, expect, it } from 'vitest';

import { access, describeAccess, refusal, type Access } from '#core/access/access';
import type { Principal } from '#core/access/principal';
import { isSubject } from '#core/access/revocation';

const person = (rights: Partial<Principal> = {}) =>
  ({ isTenantAdmin: false, isSystemAdmin: false, permissions: new Set<string>(), ...rights }) as Principal;

const callers = {
  nobody: undefined,
  member: person(),
  holder: person({ permissions: new Set(['users.read']) }),
  otherHolder: person({ permissions: new Set(['spaces.manage']) }),
  tenantAdmin: person({ isTenantAdmin: true }),
  systemAdmin: person({ isTenantAdmin: true, isSystemAdmin: true }),
};

const allowed: [string, Access, (keyof typeof callers)[]][] = [
  ['public', access.public('test'), Object.keys(callers) as (keyof typeof callers)[]],
  ['optional', access.optional('test'), Object.keys(callers) as (keyof typeof callers)[]],
  ['session', access.session(), ['member', 'holder', 'otherHolder', 'tenantAdmin', 'systemAdmin']],
  ['member', access.member(), ['member', 'holder', 'otherHolder', 'tenantAdmin', 'systemAdmin']],
  ['permission', access.permission('users.read'), ['holder', 'tenantAdmin', 'systemAdmin']],
  ['tenantAdmin', access.tenantAdmin(), ['tenantAdmin', 'systemAdmin']],
  ['systemAdmin', access.systemAdmin(), ['systemAdmin']],
];

describe('refusal', () => {
  it.each(allowed)('%s', (_kind, rule, expected) => {
    for (const [name, caller] of Object.entries(callers)) {
      const status = expected.includes(name as keyof typeof callers) ? undefined : caller === undefined ? 401 : 403;
      expect({ name, status: refusal(rule, caller)?.status }).toEqual({ name, status });
    }
  });

  it('says what would be required', () => {
    const refused = refusal(access.permission('users.read'), callers.member)!;
    expect(refused.details).toEqual({ required: 'permission users.read' });
    expect(describeAccess(access.public('test'))).toBe('public: test');
  });
});

describe('isSubject', () => {
  it('takes subjects, and nothing else that may come over the channel', () => {
    const id = '01890000-0000-7000-8000-000000000000';
    for (const kind of ['session', 'user', 'account', 'tenant']) expect(isSubject(`${kind}:${id}`)).toBe(true);
    for (const text of ['', id, `group:${id}`, `user:${id}x`, `user:${id}\n`, 'user:', `USER:${id}`]) {
      expect(isSubject(text)).toBe(false);
    }
  });
});
