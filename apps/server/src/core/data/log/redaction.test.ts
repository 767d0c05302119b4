import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { redactText, toLoggable } from '#core/data/log/redaction';

const redacted = (fields: object) => JSON.stringify(toLoggable(fields, { redact: true }));

const secretNames = [
  'password',
  'pass',
  'secret',
  'token',
  'accessToken',
  'refreshToken',
  'authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'fullKey',
  'code',
  'backup_codes',
  'otp',
  'totp',
  'qr_code_uri',
  'qr_code_data_url',
  'auth_config',
  'customer_credentials',
  'x-dispatcher-secret',
  'x-cron-secret',
  'device_fingerprint',
  'delivery_target',
  'private_key',
  'client_secret',
  'secretAccessKey',
  'passwords',
  'passwd',
  'password_hash',
];

const spellings = (name: string) => [
  name,
  name.toUpperCase(),
  name.replaceAll(/[-_]/g, ''),
  name.replaceAll(/[a-z](?=[A-Z])/g, '$&_').toLowerCase(),
  name.replaceAll('_', '-'),
  name.replaceAll('-', '_'),
];

const secretTexts: [string, string][] = [
  ['a JWT', 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJlLWNhbmFyeQ'],
  ['an API key', 'svc_sk_canaryCANARYcanary0123456789'],
  ['a refresh token', 'rt1_canary-CANARY_canary0123456789'],
  ['an enrolment', 'otpauth://totp/Atrium:ada?secret=CANARYSECRET&issuer=Atrium'],
  ['a key', '-----BEGIN PRIVATE KEY-----\nY2FuYXJ5Y2FuYXJ5\n-----END PRIVATE KEY-----'],
  ['a key that was cut', '-----BEGIN EC PRIVATE KEY-----\nY2FuYXJ5Y2FuYXJ5'],
  ['a header', 'Authorization: Bearer canary0123456789'],
  ['a URL', 'https://example.com/callback?a=1&code=canary0123&state=x'],
  ['a form', 'grant=x&client_secret=canary0123&password=canary4567'],
  ['a signed URL', 'https://s3.example.com/a?X-Amz-Signature=canary0123'],
  ['JSON in a text', 'the answer was {"access_token": "canary\\"canary", "password":"canary"}'],
  ['a connection', 'postgres://atrium:canary0123@db.example.com/atrium'],
];

describe('redaction by name', () => {
  it.each(secretNames)('%s, in every spelling, at every depth', (name) => {
    for (const spelling of spellings(name)) {
      const secret = { [spelling]: 'canary' };
      const planted = {
        ...secret,
        a: { b: [{ c: { d: [secret, { e: secret }] } }] },
        err: Object.assign(new Error('x'), secret),
      };
      expect(redacted(planted)).not.toContain('canary');
    }
  });

  it('what a secret name holds is blanked whole', () => {
    expect(toLoggable({ token: { a: ['canary'] }, auth_config: ['canary'] }, { redact: true })).toEqual({
      token: '[redacted]',
      auth_config: '[redacted]',
    });
  });

  it('names of other things stay, and so do the codes of errors', () => {
    const error = Object.assign(new Error('refused'), {
      code: 'ECONNREFUSED',
      cause: Object.assign(new Error(), { code: '23505' }),
    });
    const line = toLoggable({ api_key: 'service', tokens: 3, status: 200, err: error }, { redact: true }) as any;
    expect(line).toMatchObject({ api_key: 'service', tokens: 3, status: 200 });
    expect([line.err.code, line.err.cause.code]).toEqual(['ECONNREFUSED', '23505']);
    expect(redacted({ err: Object.assign(new Error('x'), { code: '123456' }) })).not.toContain('123456');
  });
});

describe('redaction by form', () => {
  it.each(secretTexts)('%s, in messages, values, names, errors, causes and stacks', (_what, text) => {
    const told = `before ${text} after`;
    const inner = new Error(told);
    const planted = {
      plain: told,
      list: [told],
      [told]: 1,
      map: new Map([[told, told]]),
      set: new Set([told]),
      err: new Error('outer', { cause: new AggregateError([inner], told) }),
    };
    expect(redacted(planted)).not.toMatch(/canary|Y2FuYXJ5/i);
    expect(redactText(told)).not.toMatch(/canary|Y2FuYXJ5/i);
    expect(redactText(told)).toMatch(/^before /);
  });

  it('addresses are masked', () => {
    expect(redactText('to ada.lovelace@example.com, bob@b.example.org')).toBe(
      'to a***@example.com, b***@b.example.org',
    );
  });

  it('ordinary text stays as it is', () => {
    const text = 'GET /api/v1/secure/spaces/{id} 200 in 3.2 ms by 0197-…, 5 tokens @ home';
    expect(redactText(text)).toBe(text);
  });
});

describe('any logged value', () => {
  it('becomes plain data of bounded size, and never an exception', () => {
    const cycle: Record<string, unknown> = { name: 'cycle' };
    cycle['self'] = cycle;
    const hostile = {
      cycle,
      deep: Array.from({ length: 50 }).reduce<object>((inner) => ({ inner }), {}),
      wide: Object.fromEntries(Array.from({ length: 10_000 }, (_none, at) => [`n${at}`, at])),
      long: Array.from({ length: 10_000 }, () => 'x'.repeat(1000)),
      text: 'x'.repeat(1_000_000),
      bytes: Buffer.from('canary'),
      big: 10n,
      date: new Date(Number.NaN),
      call: () => 'canary',
      trap: Object.defineProperty({}, 'a', {
        enumerable: true,
        get: () => {
          throw new Error('trap');
        },
      }),
      proxy: new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('proxy');
          },
        },
      ),
    };
    const line = redacted(hostile);
    expect(line.length).toBeLessThan(60_000);
    expect(line).not.toContain('canary');
    expect(line).toContain('[circular]');
  });

  it('any value at all', () => {
    fc.assert(
      fc.property(fc.object({ withBigInt: true, withDate: true, withMap: true, withSet: true }), (value) => {
        expect(() => redacted(value)).not.toThrow();
      }),
    );
  });
});
