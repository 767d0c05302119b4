import { describe, expect, it } from 'vitest';

import { parseKey, readConfig, splitList } from '#app/config';

describe('readConfig', () => {
  it('has a default for every setting of a first start', () => {
    const config = readConfig({});
    expect(config.HOST).toBe('127.0.0.1');
    expect(config.PORT).toBe(8080);
    expect(config.DATABASE_URL).toBeUndefined();
  });

  it('reads numbers from text and treats an empty variable as unset', () => {
    expect(readConfig({ PORT: '9000', DATABASE_URL: '' }).PORT).toBe(9000);
  });

  it.each([
    ['PORT', 'abc'],
    ['PORT', '70000'],
    ['PORT', '1.5'],
    ['LOG_LEVEL', 'loud'],
    ['DATABASE_URL', 'mysql://localhost/x'],
    ['DATABASE_URL', 'not a url'],
    ['ENCRYPTION_KEY', 'short'],
    ['ENCRYPTION_KEY', 'A'.repeat(43) + '='],
    ['SYSTEM_ADMIN_EMAIL', 'root'],
    ['SYSTEM_ADMIN_PASSWORD', 'short'],
    ['TRUSTED_PROXIES', '10.0.0.0/33'],
    ['TRUSTED_PROXIES', 'proxy.example'],
    ['TRUSTED_PROXIES', '10.1.2.3/8'],
    ['OUTBOUND_ALLOWED_CIDRS', '10.0.0.0/8, localhost'],
    ['CORS_ORIGINS', 'https://app.example.com/'],
    ['CORS_ORIGINS', '*'],
    ['CORS_ORIGINS', 'null'],
    ['PUBLIC_URL', 'ftp://example.com'],
    ['SMTP_URL', 'http://example.com'],
    ['PASSWORD_MEMORY_KIB', '1024'],
    ['DISPATCHER_SECRET', 'fifteen letters'],
    ['METRICS_TOKEN', 'fifteen-letters'],
  ])('%s=%s stops the start and is named', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(new RegExp(`^${name} .+`));
  });
});

describe('the command line', () => {
  it('overrides the environment', () => {
    expect(readConfig({}).WORKERS).toBe(1);
    expect(readConfig({ WORKERS: '2' }).WORKERS).toBe(2);
    expect(readConfig({ WORKERS: '2' }, ['--workers', '4']).WORKERS).toBe(4);
    expect(readConfig({}, ['--workers=3']).WORKERS).toBe(3);
  });

  it.each([['--workers', '0'], ['--workers', 'many'], ['--workers', '65'], ['--workers']])(
    '%s %s stops the start and is named',
    (...args) => {
      expect(() => readConfig({}, args)).toThrow(/workers/i);
    },
  );

  it('refuses other options', () => {
    expect(() => readConfig({}, ['--port', '1'])).toThrow(/--port.*The only option is --workers N/);
    expect(() => readConfig({}, ['serve'])).toThrow(/serve.*The only option is --workers N/);
  });
});

it('parseKey takes 32 random bytes in hex or base64', () => {
  const bytes = Buffer.from(Array.from({ length: 32 }, (_, at) => at * 7));
  expect(parseKey(bytes.toString('hex'))).toEqual(bytes);
  expect(parseKey(bytes.toString('base64'))).toEqual(bytes);
  expect(parseKey('0'.repeat(64))).toBeUndefined();
});

it('splitList drops empty items', () => {
  expect(splitList(' 10.0.0.1 ,, ::1 ')).toEqual(['10.0.0.1', '::1']);
});
