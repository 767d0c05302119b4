import { defineError } from '#core/errors/app-error';

export const TooManyLookUps = defineError('RATE_LIMIT_EXCEEDED', 'Too many look-ups of places. Try again shortly.');
