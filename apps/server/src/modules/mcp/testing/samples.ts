import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    exchangeMcpMessage: () => ({
      jsonrpc: '2.0',
      id: 'first',
      method: 'tools/call',
      params: { name: 'get_health', arguments: { level: 'basic' } },
    }),
  },
};
