import { expect } from 'vitest';

import { defaultSecurityConfig } from '#core/platform/limits/config';
import { logInSystemAdmin, uniqueAddress } from '#test/support/factories';
import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    updateSecurityConfig: () => ({ ...defaultSecurityConfig }),
    createIpRule: () => ({
      range: uniqueAddress(),
      action: 'allow',
      reason: 'Sample',
      expires_at: '2046-01-01T00:00:00Z',
    }),
    updateIpRule: () => ({ action: 'allow', reason: null, expires_at: null }),
  },
  ids: {
    'getIpRule params.id': 'ipRule',
    'updateIpRule params.id': 'ipRule',
    'deleteIpRule params.id': 'ipRule',
  },
  records: async ({ test }) => {
    const { token } = await logInSystemAdmin(test);
    const body = { range: uniqueAddress(), action: 'allow' };
    const ipRule = await test.call('POST', '/api/v1/system/security/ip-rules', { token, body });
    expect(ipRule.status).toBe(201);
    return { ipRule: ipRule.body.data.id };
  },
};
