import { describe, expect, it } from 'vitest';

import { formats } from '#core/http/formats';
import { badValues } from '#test/support/bad-input';

describe('uri', () => {
  it.each([
    'https://example.com/a?b#c',
    'http://example.com:8080',
    'HTTPS://EXAMPLE.COM',
    'https://bücher.example/',
    'https://example.com/@ada',
    'https://example.com/?to=ada@example.com',
    'mailto:ada@example.com',
    'tel:+44-20-7946-0958',
    'sip:ada@example.com;transport=tls',
    'sips:ada@example.com',
    'xmpp:ada@example.com',
    'urn:isbn:0451450523',
    'ldap://[2001:db8::7]/c=GB?objectClass?one',
    'ftp://ftp.example.com/file',
    'geo:48.2,16.4',
    'com.example.app:/profile',
    'datastore:x',
    'filer:x',
  ])('accepts %s', (text) => expect(formats.uri!(text)).toBe(true));

  it.each(badValues.uri!)('refuses %j', (text) => expect(formats.uri!(text)).toBe(false));
});

describe('web-uri', () => {
  it.each(['https://example.com', 'http://127.0.0.1:8080/a'])('accepts %s', (text) =>
    expect(formats['web-uri']!(text)).toBe(true),
  );

  it.each(['https://:@host', 'https://@host', 'http:@host', 'https:\\\\:@host', 'https://a:b@host', 'ftp://host'])(
    'refuses %s',
    (text) => expect(formats['web-uri']!(text)).toBe(false),
  );

  it('refuses empty credentials of a mail server as well', () => {
    expect(['smtp://mail.example', 'smtps://mail.example:465'].map(formats['provider-uri']!)).toEqual([true, true]);
    expect(['smtp://:@mail.example', 'smtps://@mail.example'].map(formats['provider-uri']!)).toEqual([false, false]);
  });
});

describe('app-route', () => {
  it.each([
    '/',
    '/rules',
    '/rules?a=b:c#d',
    '/a/../b',
    'rules',
    'x'.repeat(255),
    '?step=2',
    '#kyc',
    'https://x.example',
  ])('accepts %s', (text) => expect(formats['app-route']!(text)).toBe(true));

  it.each(badValues['app-route']!)('refuses %j', (text) => expect(formats['app-route']!(text)).toBe(false));
});

describe('secure-uri', () => {
  it.each([...badValues['secure-uri']!, 'https:app.example.com', 'https:///app.example.com'])('refuses %j', (text) =>
    expect(formats['secure-uri']!(text)).toBe(false),
  );
});
