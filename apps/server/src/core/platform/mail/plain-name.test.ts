import { describe, expect, it } from 'vitest';

import { plainName } from '#core/platform/mail/plain-name';

describe('plainName', () => {
  it.each([
    'House 7',
    'Müller & Söhne GmbH',
    'Dr. Ada Lovelace Inc.',
    'Ärztehaus (Wien) – 2. Stock',
    "L'Hôpital d'Ivry",
    '株式会社アトリウム',
    'Haus 12, 1030 Wien',
    'Baujahr 1998',
  ])('leaves %j as it is', (name) => {
    expect(plainName(name)).toBe(name);
  });

  it.each([
    ['https://evil.example/login?x=1', 'https evil example login?x=1'],
    ['Invoice: see www.evil.example', 'Invoice see www evil example'],
    ['evil.example', 'evil example'],
    ['ada@evil.example', 'ada evil example'],
    ['mailto:ada@evil', 'mailto ada evil'],
    ['<a href=evil.example>', 'a href=evil example'],
    ['192.0.2.1', '192 0 2 1'],
    ['\\\\evil\\share', 'evil share'],
    ['evil\u200b.example', 'evil example'],
    ['evil。example', 'evil example'],
    ['ｅｖｉｌ．ｅｘａｍｐｌｅ／ｘ', 'evil example x'],
    ['evil․example', 'evil example'],
    ['\u202eelpmaxe.live', 'elpmaxe live'],
    ['..evil..example..', 'evil example'],
    ['Refund: call +43 (660) 123-45 67 now', 'Refund call now'],
    ['Call 0800.123.4567', 'Call'],
    ['Call (555) 0123', 'Call'],
    ['Call ０８００ １２３ ４５６７', 'Call'],
    ['Call 0\u200b8001234567', 'Call'],
    ['two\r\nlines\u2028more', 'two lines more'],
    ['://.@', ''],
  ])('makes nothing that looks like a link of %j', (name, expected) => {
    expect(plainName(name)).toBe(expected);
  });

  it('is short, and ends between two characters as people see them', () => {
    expect(plainName('x'.repeat(255))).toBe(`${'x'.repeat(64)}...`);
    expect(plainName('👩‍👩‍👧'.repeat(3))).not.toBe('');
  });
});
