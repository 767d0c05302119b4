import { describe, expect, it } from 'vitest';

import { describeBrowser } from '#modules/notifications/security/browsers.rules';

const webKit = 'AppleWebKit/537.36 (KHTML, like Gecko)';

describe('describeBrowser', () => {
  it.each([
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webKit} Chrome/149.0.0.0 Safari/537.36 Edg/149.0.0.0`,
      'Edge, Windows',
    ],
    [`Mozilla/5.0 (Linux; Android 16) ${webKit} Chrome/149.0.0.0 Mobile Safari/537.36`, 'Chrome, Android'],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:149.0) Gecko/20100101 Firefox/149.0', 'Firefox, Linux'],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) Version/26.0 Mobile/15E148 Safari/604.1', 'Safari, iOS'],
    ['curl/8.14.1', ''],
    ['your account is locked, go to https://evil.example', ''],
    [null, ''],
  ])('%s is %s', (userAgent, described) => {
    expect(describeBrowser(userAgent)).toBe(described);
  });
});
