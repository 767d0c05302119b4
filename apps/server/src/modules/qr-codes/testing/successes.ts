import type { SampleContext, Successes } from '#test/support/samples';

const qrCodes = '/api/v1/secure/qr-codes';
const resourceType = 'qr_code';
const fields = { label: 'canary' };

/** Successful calls of all recorded operations on QR codes. */
export function qrCodeSuccesses({ create, made }: SampleContext): Successes {
  return {
    createQrCode: () => Promise.resolve({ method: 'POST', url: qrCodes, status: 201, body: fields, resourceType }),
    assignQrCode: async () => {
      const resourceId = await create(qrCodes, fields);
      const body = { entity_type: 'resource', entity_id: await made('resources') };
      return { method: 'POST', url: `${qrCodes}/${resourceId}/assign`, status: 200, body, resourceType, resourceId };
    },
    deleteQrCode: async () => {
      const resourceId = await create(qrCodes, fields);
      return { method: 'DELETE', url: `${qrCodes}/${resourceId}`, status: 204, resourceType, resourceId };
    },
  };
}
