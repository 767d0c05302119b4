import { defineError } from '#core/base/errors/app-error';
import { StoreBusy, StoreFull } from '#core/data/files/object-store';
import { LengthRequired } from '#core/http/uploads';

export const FileNotFound = defineError('NOT_FOUND', 'The file does not exist.');
export const AvatarNotFound = defineError('NOT_FOUND', 'The user has no avatar.');
export const SpaceNotFound = defineError('NOT_FOUND', 'The space does not exist.', 'ENTITY_NOT_FOUND');
export const ResourceNotFound = defineError('NOT_FOUND', 'The resource does not exist.', 'ENTITY_NOT_FOUND');
export const ContactNotFound = defineError('NOT_FOUND', 'The contact does not exist.', 'ENTITY_NOT_FOUND');
export const UserNotFound = defineError('NOT_FOUND', 'The user does not exist.', 'ENTITY_NOT_FOUND');
export const EntityIncomplete = defineError(
  'UNPROCESSABLE_ENTITY',
  'entity_type and entity_id belong together. Send both or neither.',
  'ENTITY_INCOMPLETE',
);
export const FileNotOwned = defineError(
  'AUTHORIZATION_ERROR',
  'Only the uploader or a holder of files.manage may change or delete this file.',
  'FILE_NOT_OWNED',
);
export const AvatarNotOwned = defineError(
  'AUTHORIZATION_ERROR',
  'Only the user or a holder of users.manage may change this avatar.',
  'AVATAR_NOT_OWNED',
);
export const QuotaExceeded = defineError(
  'PAYLOAD_TOO_LARGE',
  'The file exceeds the storage quota of the tenant. Delete other files, or ask for a larger quota.',
  'QUOTA_EXCEEDED',
);
export const FileTooLarge = defineError(
  'PAYLOAD_TOO_LARGE',
  'The file exceeds the maximum size of a file. Send a smaller one.',
  'FILE_TOO_LARGE',
);
export const StorageDisabled = defineError(
  'UNPROCESSABLE_ENTITY',
  'The storage of the tenant is disabled. Files can be read and deleted, but not added.',
  'STORAGE_DISABLED',
);
export const BadContentType = defineError(
  'UNSUPPORTED_MEDIA_TYPE',
  'Content-Type must be one media type of at most 255 characters.',
);
export const PictureTypeRequired = defineError(
  'UNSUPPORTED_MEDIA_TYPE',
  'The media type is not supported. Send image/png, image/jpeg or image/webp.',
);
export const PictureInvalid = defineError(
  'UNPROCESSABLE_ENTITY',
  'The content is not a picture of the type in Content-Type. Send a matching type.',
  'PICTURE_INVALID',
);
export const UploadSuperseded = defineError(
  'CONFLICT',
  'The record of the file was deleted meanwhile, or the upload took too long. Check the record and upload again.',
  'UPLOAD_SUPERSEDED',
);
export const StoreUnavailable = defineError(
  'SERVICE_UNAVAILABLE',
  'The file store is not reachable. Try again shortly.',
);

/** Errors of every upload. */
export const uploadErrors = [
  LengthRequired,
  FileTooLarge,
  QuotaExceeded,
  BadContentType,
  StorageDisabled,
  UploadSuperseded,
  StoreBusy,
  StoreFull,
  StoreUnavailable,
];
