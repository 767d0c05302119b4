import { describe, expect, it } from 'vitest';

import { changeSettings } from '#modules/tenants/tenants.rules';

const at = (text: string) => new Date(`2026-01-${text}T12:00:00.000Z`);
const iso = (text: string) => at(text).toISOString();

describe('changeSettings', () => {
  it('requires the second factor at once, or after the grace period', () => {
    expect(changeSettings({}, { requires2fa: true }, at('01'))).toEqual({
      requires2fa: true,
      requires2faSince: iso('01'),
      twoFactorRequiredFrom: iso('01'),
    });
    expect(changeSettings({}, { requires2fa: true, twoFactorGraceDays: 7 }, at('01'))).toMatchObject({
      twoFactorRequiredFrom: iso('08'),
    });
    expect(changeSettings({ twoFactorGraceDays: 3 }, { requires2fa: true }, at('01'))).toMatchObject({
      twoFactorRequiredFrom: iso('04'),
    });
  });

  it('counts a changed grace period from the time when the factor became required', () => {
    const on = changeSettings({}, { requires2fa: true, twoFactorGraceDays: 7 }, at('01'));
    const longer = changeSettings(on, { twoFactorGraceDays: 20 }, at('05'));
    expect(longer).toMatchObject({ requires2faSince: iso('01'), twoFactorRequiredFrom: iso('21') });
    const again = changeSettings(longer, { requires2fa: true }, at('06'));
    expect(again).toEqual(longer);
    expect(changeSettings(again, { twoFactorGraceDays: 0 }, at('07'))).toMatchObject({
      twoFactorRequiredFrom: iso('01'),
    });
  });

  it('removes the requirement and its time, and keeps the length of the grace period', () => {
    const on = changeSettings({}, { requires2fa: true, twoFactorGraceDays: 7 }, at('01'));
    const off = changeSettings(on, { requires2fa: false }, at('02'));
    expect(off).toEqual({ requires2fa: false, twoFactorGraceDays: 7 });
    expect(changeSettings(off, { requires2fa: true }, at('10'))).toMatchObject({ twoFactorRequiredFrom: iso('17') });
    expect(changeSettings({}, { twoFactorGraceDays: 5 }, at('01'))).toEqual({ twoFactorGraceDays: 5 });
  });

  it('keeps unknown settings', () => {
    const current = { other: [1], requires2fa: true, requires2faSince: iso('01'), twoFactorRequiredFrom: iso('01') };
    expect(changeSettings(current, { requires2fa: false }, at('02'))).toEqual({ other: [1], requires2fa: false });
  });
});
