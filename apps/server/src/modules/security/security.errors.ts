import { defineError } from '#core/errors/app-error';

export const WouldLockOut = defineError(
  'CONFLICT',
  'Your own address would be refused, now or as soon as a rule that allows it expires. If that is what you want, send it again with ?force=true.',
  'WOULD_LOCK_OUT',
);
export const IpRuleNotFound = defineError('NOT_FOUND', 'The rule does not exist.');
export const RangeTaken = defineError('CONFLICT', 'There is a rule for this range already.', 'RANGE_TAKEN');
export const RuleExpiresInThePast = defineError(
  'UNPROCESSABLE_ENTITY',
  'A new rule has to expire in the future.',
  'EXPIRES_IN_THE_PAST',
);
