import { describe, expect, it } from 'vitest';

import { contactOf, payloadOf, together, type Answer } from '#modules/notifications/push/push.rules';

describe('together', () => {
  const error = new Error('503');
  const [taken, gone, refused, failed]: Answer[] = [
    { kind: 'taken' },
    { kind: 'gone' },
    { kind: 'refused' },
    { kind: 'failed', error },
  ];
  it.each<[string, Answer[], object]>([
    ['all gone', [gone!, gone!], { kind: 'no_address' }],
    ['one took it', [gone!, failed!, refused!, taken!], { kind: 'taken' }],
    ['one may still take it', [gone!, refused!, failed!], { kind: 'failed', error }],
    ['none will', [gone!, refused!], { kind: 'refused' }],
    [
      'the longest wait counts',
      [
        { kind: 'failed', error, retryAfterMs: 1000 },
        { kind: 'failed', error, retryAfterMs: 9000 },
      ],
      { kind: 'failed', error, retryAfterMs: 9000 },
    ],
  ])('%s', (_what, answers, outcome) => {
    expect(together(answers)).toEqual(outcome);
    expect(together(answers.toReversed())).toEqual(outcome);
  });
});

describe('contactOf', () => {
  it.each([
    ['https://atrium.example/app', 'a@b.example', 'https://atrium.example'],
    ['https://localhost:8080', 'Atrium <no-reply@atrium.example>', 'mailto:no-reply@atrium.example'],
    ['http://atrium.example', 'no-reply@atrium.example', 'mailto:no-reply@atrium.example'],
    ['nothing', '"A, B" <a@b.example> ', 'mailto:a@b.example'],
  ])('%s and %s: %s', (publicUrl, sender, contact) => {
    expect(contactOf(publicUrl, sender)).toBe(contact);
  });
});

describe('payloadOf', () => {
  const ids = { deliveryId: 'd', notificationId: 'n' };
  const told = { ...ids, category: 'a.b', texts: { title: 'Title', body: 'Body' }, link: 'https://a.example' };
  const read = (rest: Partial<typeof told>, isShort = false) => {
    const payload = payloadOf({ ...told, ...rest }, { isShort });
    expect(Buffer.byteLength(payload)).toBeLessThanOrEqual(3072);
    return JSON.parse(payload) as Record<string, string | null>;
  };

  it('contains the parts that fit', () => {
    expect(read({})).toEqual({ ...ids, category: 'a.b', title: 'Title', body: 'Body', link: 'https://a.example' });
    expect(read({}, true)).toMatchObject({ title: 'Title', body: '', link: 'https://a.example' });
  });

  it.each([['x'], ['ü'], ['"'], ['𝕏'], ['👩‍👩‍👧'], ['a\u2028'], ['\ud800']])('fits with any number of %j', (text) => {
    const many = text.repeat(10_000);
    const { title, body } = read({ texts: { title: many, body: many }, link: `https://a.example/${'x'.repeat(1480)}` });
    expect([title, body]).toEqual([expect.stringMatching(/\.\.\.$/), expect.stringMatching(/\.\.\.$/)]);
  });

  it('omits a link that would leave no space for the text', () => {
    expect(read({ link: `https://a.example/${'x'.repeat(2000)}` })['link']).toBeNull();
  });
});
