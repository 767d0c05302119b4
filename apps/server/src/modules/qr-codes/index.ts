import Type from 'typebox';

import { access } from '#core/access/access';
import { defineModule, defineRoute } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import { HalfAnEntity, QrCodeNotFound, ResourceNotFound, SpaceNotFound } from '#modules/qr-codes/qr-codes.errors';
import * as schemas from '#modules/qr-codes/qr-codes.schemas';
import {
  assignQrCode,
  createQrCode,
  deleteQrCode,
  drawQrCode,
  getQrCode,
  listQrCodes,
  resolveQrCode,
} from '#modules/qr-codes/qr-codes.service';

export { releaseQrCodesOfResource, releaseQrCodesOfSpace } from '#modules/qr-codes/qr-codes.queries';

/** Codes that are printed, stuck to spaces and resources, and scanned. */
export const qrCodesModule = defineModule({
  name: 'qr-codes',
  description: 'Codes that are printed, stuck to spaces and resources, and scanned',
  constraints: { qr_codes_space: SpaceNotFound, qr_codes_resource: ResourceNotFound },
  routes: [
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/qr-codes',
      operationId: 'listQrCodes',
      summary: 'QR codes, the newest first, with filters',
      access: access.member('qrCodes.read'),
      schema: { query: schemas.ListQrCodesQuery, response: { 200: schemas.QrCodePage } },
      handler: ({ db, query, setHeader }) => listQrCodes({ db, setHeader }, query),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/secure/qr-codes',
      operationId: 'createQrCode',
      summary: 'Make a QR code that is on nothing yet',
      access: access.permission('resources.manage', 'qrCodes.write'),
      schema: { body: schemas.CreateQrCodeBody, response: { 201: schemas.QrCodeAnswer } },
      audit: 'qr_code.created',
      handler: ({ actor, body, db, services }) => createQrCode({ db, actor, now: services.now }, body),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/qr-codes/resolve/{code}',
      operationId: 'resolveQrCode',
      summary: 'What a scanned code is on',
      access: access.member('qrCodes.read'),
      schema: { params: schemas.CodeParams, response: { 200: schemas.ResolvedQrCodeAnswer } },
      errors: [QrCodeNotFound],
      handler: ({ db, params }) => resolveQrCode(db, params.code),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/qr-codes/{id}',
      operationId: 'getQrCode',
      summary: 'One QR code',
      access: access.member('qrCodes.read'),
      schema: { params: IdParams, response: { 200: schemas.QrCodeAnswer } },
      errors: [QrCodeNotFound],
      handler: ({ db, params }) => getQrCode(db, params.id),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/qr-codes/{id}/image',
      operationId: 'getQrCodeImage',
      summary: 'A QR code as a picture to print; it holds the code alone',
      access: access.member('qrCodes.read'),
      schema: { params: IdParams, response: { 200: Type.String() } },
      errors: [QrCodeNotFound],
      contentTypes: ['image/png'],
      handler: async ({ db, params, setHeader }) => {
        const image = await drawQrCode(db, params.id);
        setHeader('content-type', 'image/png');
        return image;
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/secure/qr-codes/{id}/assign',
      operationId: 'assignQrCode',
      summary: 'Put a QR code on a space or a resource, wherever it was before; null takes it off',
      access: access.permission('resources.manage', 'qrCodes.assign'),
      schema: { params: IdParams, body: schemas.AssignQrCodeBody, response: { 200: schemas.QrCodeAnswer } },
      errors: [QrCodeNotFound, SpaceNotFound, ResourceNotFound, HalfAnEntity],
      audit: 'qr_code.assigned',
      handler: ({ actor, body, db, params, services }) =>
        assignQrCode({ db, actor, now: services.now }, params.id, body),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/secure/qr-codes/{id}',
      operationId: 'deleteQrCode',
      summary: 'Delete a QR code: scanning it finds nothing any more',
      access: access.permission('resources.manage', 'qrCodes.delete'),
      schema: { params: IdParams, response: { 204: null } },
      errors: [QrCodeNotFound],
      audit: 'qr_code.deleted',
      handler: ({ actor, db, params, services }) => deleteQrCode({ db, actor, now: services.now }, params.id),
    }),
  ],
});
