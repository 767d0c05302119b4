import Type from 'typebox';

import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import { EntityIncomplete, QrCodeNotFound, ResourceNotFound, SpaceNotFound } from '#modules/qr-codes/qr-codes.errors';
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

export const qrCodeRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/qr-codes',
    operationId: 'listQrCodes',
    summary: 'List QR codes, the newest first, with filters',
    access: access.member('qrCodes.read'),
    schema: { query: schemas.ListQrCodesQuery, response: { 200: schemas.QrCodePage } },
    handler: ({ db, query, setHeader }) => listQrCodes({ db, setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/qr-codes',
    operationId: 'createQrCode',
    summary: 'Create a QR code that is not assigned yet',
    access: access.permission('resources.manage', 'qrCodes.write'),
    schema: { body: schemas.CreateQrCodeBody, response: { 201: schemas.QrCodeAnswer } },
    audit: 'qr_code.created',
    handler: ({ actor, body, db, services }) => createQrCode({ db, actor, now: services.now }, body),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/qr-codes/resolve/{code}',
    operationId: 'resolveQrCode',
    summary: 'Find the record of a scanned code',
    access: access.member('qrCodes.read'),
    schema: { params: schemas.CodeParams, response: { 200: schemas.ResolvedQrCodeAnswer } },
    errors: [QrCodeNotFound],
    handler: ({ db, params }) => resolveQrCode(db, params.code),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/qr-codes/{id}',
    operationId: 'getQrCode',
    summary: 'Get a QR code',
    access: access.member('qrCodes.read'),
    schema: { params: IdParams, response: { 200: schemas.QrCodeAnswer } },
    errors: [QrCodeNotFound],
    handler: ({ db, params }) => getQrCode(db, params.id),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/qr-codes/{id}/image',
    operationId: 'getQrCodeImage',
    summary: 'Get the image of a QR code (PNG); it contains only the code',
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
    summary: 'Assign a QR code to a space or a resource, or move it; null removes the assignment',
    access: access.permission('resources.manage', 'qrCodes.assign'),
    schema: { params: IdParams, body: schemas.AssignQrCodeBody, response: { 200: schemas.QrCodeAnswer } },
    errors: [QrCodeNotFound, SpaceNotFound, ResourceNotFound, EntityIncomplete],
    audit: 'qr_code.assigned',
    handler: ({ actor, body, db, params, services }) => assignQrCode({ db, actor, now: services.now }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/qr-codes/{id}',
    operationId: 'deleteQrCode',
    summary: 'Delete a QR code; a scan of it then fails with 404',
    access: access.permission('resources.manage', 'qrCodes.delete'),
    schema: { params: IdParams, response: { 204: null } },
    errors: [QrCodeNotFound],
    audit: 'qr_code.deleted',
    handler: ({ actor, db, params, services }) => deleteQrCode({ db, actor, now: services.now }, params.id),
  }),
];
