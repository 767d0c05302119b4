import { defineError } from '#core/errors/app-error';
import { StoreBusy, StoreFull } from '#core/files/object-store';
import { LengthRequired } from '#core/http/uploads';

export const FileNotFound = defineError('NOT_FOUND', 'The file does not exist.');
export const AvatarNotFound = defineError('NOT_FOUND', 'There is no such picture.');
export const SpaceNotFound = defineError('NOT_FOUND', 'The space does not exist.', 'ENTITY_NOT_FOUND');
export const ResourceNotFound = defineError('NOT_FOUND', 'The resource does not exist.', 'ENTITY_NOT_FOUND');
export const ContactNotFound = defineError('NOT_FOUND', 'The contact does not exist.', 'ENTITY_NOT_FOUND');
export const UserNotFound = defineError('NOT_FOUND', 'The user does not exist.', 'ENTITY_NOT_FOUND');
export const HalfAnEntity = defineError(
  'UNPROCESSABLE_ENTITY',
  'entity_type and entity_id name a record together, or neither is there.',
  'HALF_AN_ENTITY',
);
export const NotYourFile = defineError(
  'AUTHORIZATION_ERROR',
  'Only who uploaded a file, and holders of files.manage, change or delete it.',
  'NOT_YOUR_FILE',
);
export const NotYourAvatar = defineError(
  'AUTHORIZATION_ERROR',
  'Only the person, and holders of users.manage, change a picture.',
  'NOT_YOUR_AVATAR',
);
export const QuotaExceeded = defineError(
  'PAYLOAD_TOO_LARGE',
  'The tenant has no room for this file: delete others, or have the quota raised.',
  'QUOTA_EXCEEDED',
);
export const FileTooLarge = defineError('PAYLOAD_TOO_LARGE', 'The file is larger than one may be.', 'FILE_TOO_LARGE');
export const StorageDisabled = defineError(
  'UNPROCESSABLE_ENTITY',
  'The storage of the tenant is switched off: what is there can be read and deleted, nothing can be added.',
  'STORAGE_DISABLED',
);
export const BadContentType = defineError(
  'UNSUPPORTED_MEDIA_TYPE',
  'Content-Type has to be one media type of at most 255 characters.',
);
export const PictureTypeNeeded = defineError(
  'UNSUPPORTED_MEDIA_TYPE',
  'Send the picture as image/png, image/jpeg or image/webp.',
);
export const NotAPicture = defineError(
  'UNPROCESSABLE_ENTITY',
  'The content is not a picture of the type that Content-Type says.',
  'NOT_A_PICTURE',
);
export const UploadOvertaken = defineError(
  'CONFLICT',
  'What the file was for has gone in the meantime, or the upload took too long to be finished.',
  'UPLOAD_OVERTAKEN',
);
export const StoreUnavailable = defineError(
  'SERVICE_UNAVAILABLE',
  'Files cannot be reached right now. Try again shortly.',
);

/** What every upload can come to. */
export const uploadErrors = [
  LengthRequired,
  FileTooLarge,
  QuotaExceeded,
  BadContentType,
  StorageDisabled,
  UploadOvertaken,
  StoreBusy,
  StoreFull,
  StoreUnavailable,
];
