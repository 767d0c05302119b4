import { describe, expect, it } from 'vitest';

import { access, decide, describeAccess, type Access } from '#core/base/access/access';
import type { Flag } from '#core/base/access/flags';
import type { AppAccountPrincipal, Person, Principal } from '#core/base/access/principal';
import { isSubject } from '#core/data/db/revocation';

const person = (permissions: Partial<Person> = {}) =>
  ({
    kind: 'user',
    isTenantAdmin: false,
    isSystemAdmin: false,
    permissions: new Set<string>(),
    missingFactor: undefined,
    isAccountWide: true,
    ...permissions,
  }) as Person;

const machine = (kind: 'api_key' | 'app_account', ...flags: Flag[]) =>
  ({
    kind,
    isTenantAdmin: false,
    isSystemAdmin: false,
    permissions: new Set<string>(),
    flags: new Set(flags),
  }) as unknown as AppAccountPrincipal;

const callers: Record<string, Principal | undefined> = {
  unauthenticated: undefined,
  member: person(),
  holder: person({ permissions: new Set(['users.read']) }),
  otherHolder: person({ permissions: new Set(['spaces.manage']) }),
  tenantAdmin: person({ isTenantAdmin: true }),
  systemAdmin: person({ isTenantAdmin: true, isSystemAdmin: true }),
  vouchedForByTenant: person({ isTenantAdmin: true, isAccountWide: false }),
  lacking: person({ isTenantAdmin: true, isSystemAdmin: true, missingFactor: 'second_factor' }),
  enrolling: person({ isTenantAdmin: true, isSystemAdmin: true, missingFactor: 'enrolment' }),
  key: machine('api_key'),
  flaggedKey: machine('api_key', 'users.read'),
  appAccount: machine('app_account'),
  flaggedAppAccount: machine('app_account', 'users.read'),
};

const allCallers = Object.keys(callers);
const people = ['member', 'holder', 'otherHolder', 'tenantAdmin', 'systemAdmin', 'vouchedForByTenant'];
const administrators = ['tenantAdmin', 'systemAdmin', 'vouchedForByTenant'];
const flagged = ['flaggedKey', 'flaggedAppAccount'];
const appAccounts = ['appAccount', 'flaggedAppAccount'];

const allowed: [string, Access, string[]][] = [
  ['public', access.public('test'), allCallers],
  ['optional', access.optional('test'), allCallers.filter((name) => !['key', 'flaggedKey'].includes(name))],
  ['session', access.session(), [...people, ...appAccounts]],
  ['session, lacking', access.session({ missingFactors: 'any' }), [...people, ...appAccounts, 'lacking', 'enrolling']],
  ['person', access.person(), people.filter((name) => name !== 'vouchedForByTenant')],
  [
    'person, enrolling',
    access.person({ missingFactors: 'enrolling' }),
    [...people.filter((name) => name !== 'vouchedForByTenant'), 'enrolling'],
  ],
  ['person, lacking', access.person({ missingFactors: 'any' }), [...people, 'lacking', 'enrolling']],
  ['member', access.member(), people],
  ['member or flag', access.member('users.read'), [...people, ...flagged]],
  ['permission', access.permission('users.read'), ['holder', ...administrators]],
  ['permission or flag', access.permission('users.read', 'users.read'), ['holder', ...administrators, ...flagged]],
  [
    'one of two flags',
    access.permission('users.read', 'geo.geocode', 'users.read'),
    ['holder', ...administrators, ...flagged],
  ],
  ['tenantAdmin', access.tenantAdmin(), administrators],
  ['systemAdmin', access.systemAdmin(), ['systemAdmin']],
];

function refusalOf(rule: Access, caller: Principal | undefined) {
  const decision = decide(rule, caller);
  return decision.allowed ? undefined : decision.error;
}

describe('decide', () => {
  it.each(allowed)('%s', (_kind, rule, expected) => {
    for (const [name, caller] of Object.entries(callers)) {
      const status = expected.includes(name) ? undefined : caller === undefined ? 401 : 403;
      expect({ name, status: refusalOf(rule, caller)?.status }).toEqual({ name, status });
    }
  });

  it('says what would be required, and which factor the session lacks', () => {
    expect(refusalOf(access.permission('users.read'), callers.member)!.details).toEqual({
      required: 'permission users.read',
    });
    expect(refusalOf(access.member(), callers.lacking)!.details).toEqual({ code: 'TWO_FACTOR_REQUIRED' });
    expect(refusalOf(access.member(), callers.enrolling)!.details).toEqual({ code: 'TWO_FACTOR_ENROLMENT_REQUIRED' });
    expect(refusalOf(access.person(), callers.vouchedForByTenant)!.details).toEqual({ code: 'SESSION_OF_ONE_TENANT' });
    expect(describeAccess(access.public('test'))).toBe('public: test');
    expect(describeAccess(access.member('spaces.read'))).toBe(
      'member of the tenant; keys and app accounts: spaces.read',
    );
  });

  it('gives its reason either way', () => {
    expect(decide(access.permission('users.read'), callers.holder).because).toBe(
      'a group of the person holds users.read',
    );
    expect(decide(access.member('users.read'), callers.key).because).toBe('the flag users.read is not set');
    expect(decide(access.tenantAdmin(), callers.flaggedKey).because).toBe('an API key never may');
  });
});

describe('isSubject', () => {
  it('takes subjects, and nothing else that may come over the channel', () => {
    const id = '01890000-0000-7000-8000-000000000000';
    for (const kind of ['session', 'user', 'account', 'tenant', 'api_key', 'app_account'])
      expect(isSubject(`${kind}:${id}`)).toBe(true);
    for (const text of ['', id, `group:${id}`, `user:${id}x`, `user:${id}\n`, 'user:', `USER:${id}`]) {
      expect(isSubject(text)).toBe(false);
    }
  });
});
