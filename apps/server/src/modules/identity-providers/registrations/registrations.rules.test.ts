import { describe, expect, it } from 'vitest';

import { isSameAddressee, settingsProblems } from '#modules/identity-providers/registrations/registrations.rules';

describe('settingsProblems', () => {
  it('names missing settings and unused ones', () => {
    const given = (settings: Record<string, string>, issuer: string | null = null) => ({ issuer, settings });
    expect(settingsProblems('google', given({}))).toBeUndefined();
    expect(settingsProblems('apple', given({ team_id: 't', key_id: 'k' }))).toBeUndefined();
    expect(settingsProblems('apple', given({ key_id: 'k', directory_id: 'd' }))).toEqual({
      missing: ['team_id'],
      unknown: ['directory_id'],
    });
    expect(settingsProblems('microsoft', given({}))).toEqual({ missing: ['directory_id'], unknown: [] });
    expect(settingsProblems('microsoft', given({}, 'https://sso.example.com'))).toBeUndefined();
  });
});

describe('isSameAddressee', () => {
  it('compares only the issuer and the directory', () => {
    const first = { issuer: null, settings: { directory_id: 'a', key_id: '1' } };
    expect(isSameAddressee(first, { issuer: null, settings: { directory_id: 'a', key_id: '2' } })).toBe(true);
    expect(isSameAddressee(first, { issuer: null, settings: { directory_id: 'b', key_id: '1' } })).toBe(false);
    expect(isSameAddressee(first, { issuer: 'https://sso.example.com', settings: first.settings })).toBe(false);
  });
});
