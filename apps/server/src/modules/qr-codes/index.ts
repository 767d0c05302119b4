import { defineModule } from '#core/http/route';
import { ResourceNotFound, SpaceNotFound } from '#modules/qr-codes/qr-codes.errors';
import { qrCodeRoutes } from '#modules/qr-codes/qr-codes.routes';

export { releaseQrCodesOfResource, releaseQrCodesOfSpace } from '#modules/qr-codes/qr-codes.queries';

/** QR codes that are printed, attached to spaces and resources, and scanned. */
export const qrCodesModule = defineModule({
  name: 'qr-codes',
  description: 'Manage QR codes, and assign them to spaces and resources',
  constraints: { qr_codes_space: SpaceNotFound, qr_codes_resource: ResourceNotFound },
  routes: qrCodeRoutes,
});
