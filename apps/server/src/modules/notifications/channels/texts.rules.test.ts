import { describe, expect, it } from 'vitest';

import { chatText, cut, mailOf, smsText } from '#modules/notifications/channels/texts.rules';

const texts = { title: 'Water off on Monday', body: 'From 8 to 10.' };
const link = 'https://house.example/notes/1';
const longLink = `https://house.example/${'x'.repeat(2000)}`;

describe('smsText', () => {
  it('is the title and the link', () => {
    expect(smsText({ texts, link })).toBe(`${texts.title}\n${link}`);
    expect(smsText({ texts, link: null })).toBe(texts.title);
  });

  it('has at most 300 characters, and the link completely or not at all', () => {
    const title = 'Ünïcode 👩‍👩‍👧 '.repeat(100);
    for (const end of [link, longLink, null]) {
      const text = smsText({ texts: { title, body: '' }, link: end });
      expect(text.length).toBeLessThanOrEqual(300);
      expect(text.endsWith(end === link ? `...\n${link}` : '...')).toBe(true);
    }
  });

  it('is one line without a link', () => {
    expect(smsText({ texts: { title: 'a\r\nb\u2028c\u0000', body: '' }, link: null })).toBe('a b c');
  });
});

describe('chatText', () => {
  it('is title, body and link', () => {
    expect(chatText({ texts, link })).toBe(`${texts.title}\n\n${texts.body}\n\n${link}`);
    expect(chatText({ texts: { ...texts, body: '' }, link: null })).toBe(texts.title);
  });

  it('has at most 1000 characters', () => {
    const long = 'Ünïcode 👩‍👩‍👧 '.repeat(1000);
    for (const end of [link, longLink, null]) {
      const text = chatText({ texts: { title: long, body: long }, link: end });
      expect(text.length).toBeLessThanOrEqual(1000);
      expect(text.endsWith(end === link ? `...\n\n${link}` : '...')).toBe(true);
    }
  });
});

describe('mailOf', () => {
  const about = { category: 'maintenance', locale: 'en', tenantName: 'House 7', settingsUrl: 'https://a.example/s' };
  const write = (rest: Partial<Parameters<typeof mailOf>[0]> = {}) => mailOf({ texts, link, ...about, ...rest });

  it.each(['en', 'de-AT', 'fr', 'es', 'it', 'ja'])(
    'speaks of an organisation where it may not name the tenant: %s',
    (locale) => {
      const { text } = write({ locale, tenantName: '' });
      expect(text).toMatch(/organi(s|zz?)a/i);
      expect(text).not.toMatch(/  |undefined/);
    },
  );

  it('contains subject, reason and how to turn it off', () => {
    expect(write()).toEqual({
      subject: 'Water off on Monday',
      text: [
        'Water off on Monday',
        '',
        'From 8 to 10.',
        '',
        link,
        '',
        '-- ',
        'You get this mail because you are a member of House 7 and are told about maintenance by mail. What you are told about, and how, you change here:',
        'https://a.example/s',
        '',
      ].join('\n'),
    });
  });

  it('omits missing parts', () => {
    expect(write({ texts: { ...texts, body: '' }, link: null }).text).toMatch(/^Water off on Monday\n\n-- \n/);
  });

  it.each([
    ['de', /^Sie erhalten/m],
    ['de-AT', /^Sie erhalten/m],
    ['FR', /^Vous recevez/m],
    ['es', /^Recibe/m],
    ['it', /^Riceve/m],
    ['tlh', /^You get/m],
    ['__proto__', /^You get/m],
    ['', /^You get/m],
  ])('is in the language of the user: %j', (locale, begins) => {
    expect(write({ locale }).text).toMatch(begins);
  });

  it.each(['a\r\nBcc: b@example.com', 'a\nBcc: b@example.com', 'a\u2028b\u0085c', `${'x'.repeat(5000)}\r\n\r\nbody`])(
    'has a subject of one line: %j',
    (title) => {
      const { subject } = write({ texts: { title, body: '' }, tenantName: title });
      expect(subject).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
      expect(subject.length).toBeLessThanOrEqual(200);
    },
  );
});

describe('cut', () => {
  it.each([
    ['short', 10, 'short'],
    ['exactly 10', 10, 'exactly 10'],
    ['more than ten', 10, 'more th...'],
    ['one   space', 9, 'one...'],
    ['👩‍👩‍👧👩‍👩‍👧', 12, '👩‍👩‍👧...'],
    ['𝕏𝕏𝕏𝕏', 6, '𝕏...'],
  ])('%s to %i', (text, max, result) => {
    expect(cut(text, max)).toBe(result);
  });
});
