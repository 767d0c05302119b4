import { defineError } from '#core/base/errors/app-error';

export const QrCodeNotFound = defineError('NOT_FOUND', 'The QR code does not exist.');
export const SpaceNotFound = defineError(
  'NOT_FOUND',
  'The space does not exist. Check `entity_id`.',
  'ENTITY_NOT_FOUND',
);
export const ResourceNotFound = defineError(
  'NOT_FOUND',
  'The resource does not exist. Check `entity_id`.',
  'ENTITY_NOT_FOUND',
);
export const EntityIncomplete = defineError(
  'UNPROCESSABLE_ENTITY',
  'Only one of `entity_type` and `entity_id` is set. Set both, or set both to null.',
  'ENTITY_INCOMPLETE',
);
