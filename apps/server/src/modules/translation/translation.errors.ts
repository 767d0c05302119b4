import { defineError } from '#core/base/errors/app-error';

export const UnknownLanguage = defineError(
  'UNPROCESSABLE_ENTITY',
  'The language is unknown. Use two-letter codes of ISO 639-1.',
  'UNKNOWN_LANGUAGE',
);
export const LanguageNotDetected = defineError(
  'UNPROCESSABLE_ENTITY',
  'The language of the text could not be detected with certainty. Send source_language.',
  'LANGUAGE_NOT_DETECTED',
);
export const NothingToTranslate = defineError(
  'UNPROCESSABLE_ENTITY',
  'The source language has no text. Send text in it, or another source_language.',
  'NOTHING_TO_TRANSLATE',
);
export const EntityNotFound = defineError('NOT_FOUND', 'The space, resource, tag or category does not exist.');
export const TooManyTranslations = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many translation requests. Try again after the time in Retry-After.',
  'TOO_MANY_TRANSLATIONS',
);
