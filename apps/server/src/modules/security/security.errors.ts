import { defineError } from '#core/base/errors/app-error';

export const SelfLockout = defineError(
  'CONFLICT',
  'The change would block your address, now or when a rule that allows it expires. To apply it anyway, resubmit with ?force=true.',
  'SELF_LOCKOUT',
);
export const IpRuleNotFound = defineError('NOT_FOUND', 'The rule does not exist.');
export const RangeTaken = defineError(
  'CONFLICT',
  'A rule for this range exists. Change that rule instead.',
  'RANGE_TAKEN',
);
export const RuleExpiresInThePast = defineError(
  'UNPROCESSABLE_ENTITY',
  'expires_at of a new rule must be in the future.',
  'EXPIRES_IN_THE_PAST',
);
