import { defineError } from '#core/errors/app-error';

export const QrCodeNotFound = defineError('NOT_FOUND', 'The QR code does not exist.');
export const SpaceNotFound = defineError('NOT_FOUND', 'The space does not exist.', 'ENTITY_NOT_FOUND');
export const ResourceNotFound = defineError('NOT_FOUND', 'The resource does not exist.', 'ENTITY_NOT_FOUND');
export const HalfAnEntity = defineError(
  'UNPROCESSABLE_ENTITY',
  'entity_type and entity_id name a record together, or are both null.',
  'HALF_AN_ENTITY',
);
