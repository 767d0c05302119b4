import { qrCodeSuccesses } from '#modules/qr-codes/testing/successes';
import type { Samples } from '#test/support/samples';

const qrCodes = '/api/v1/secure/qr-codes';

export const samples: Samples = {
  bodies: {
    createQrCode: () => ({ label: 'Sheet 1' }),
    assignQrCode: ({ spaceId }) => ({ entity_type: 'space', entity_id: spaceId }),
  },
  ids: {
    'listQrCodes query.entity_id': 'space',
    'getQrCode params.id': 'qrCode',
    'getQrCodeImage params.id': 'qrCode',
    'assignQrCode params.id': 'qrCode',
    'assignQrCode body.entity_id': 'space',
    'deleteQrCode params.id': 'qrCode',
  },
  records: async ({ test, tenant: { admin }, create, ids, secret }) => {
    const qrCode = await create(qrCodes, { label: secret });
    const body = { entity_type: 'space', entity_id: ids.space };
    const assigned = await test.call('POST', `${qrCodes}/${qrCode}/assign`, { token: admin.token, body });
    return { qrCode, 'resolveQrCode params.code': assigned.body.data.code };
  },
  successes: qrCodeSuccesses,
};
