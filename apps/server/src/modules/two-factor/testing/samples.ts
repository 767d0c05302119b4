import { twoFactorSuccesses } from '#modules/two-factor/testing/successes';
import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    enableTwoFactor: () => ({ delivery_target: 'ada@example.com' }),
    verifyTwoFactor: () => ({ method: 'totp', code: '123456' }),
    sendTwoFactorCode: () => ({ method: 'email' }),
    useBackupCode: () => ({ code: 'ABCD2345' }),
    disableTwoFactor: () => ({ method: 'totp', code: '123456' }),
    disableTwoFactorByPost: () => ({ method: 'totp', code: '123456' }),
  },
  ids: {
    'resetTwoFactor params.id': 'user',
  },
  records: () => Promise.resolve({ 'enableTwoFactor params.method': 'totp' }),
  successes: twoFactorSuccesses,
};
