import type { Channel } from '#modules/notifications/notifications.types';
import type { Decision, Time } from '#modules/notifications/preferences/decision.rules';

/** Explains to people why a user gets a notification on a channel, or does not. */
export function explain(decision: Decision, channel: Channel, time: Time): string {
  const reason = reasonOf(decision, channel);
  return decision.isEnabled && time.kind !== 'now' ? `${reason} ${delayOf(decision, time)}` : reason;
}

function reasonOf({ layer, isEnabled, category }: Decision, channel: Channel): string {
  const turned = `${channel} ${isEnabled ? 'on' : 'off'}`;
  const about = category === '*' ? 'everything' : category;
  switch (layer) {
    case 'locked':
      return `The tenant has turned ${turned} for ${about} and locked it; users cannot override it.`;
    case 'user_override':
      return `The user has turned ${turned} for ${about}.`;
    case 'tenant_default':
      return `The tenant has turned ${turned} for ${about}, and the user has no preference for it.`;
    case 'built_in':
      return `Neither the user nor the tenant has a preference, and ${channel} is ${isEnabled ? 'on' : 'off'} by default.`;
  }
}

function delayOf({ quietHoursLayer }: Decision, time: Exclude<Time, { kind: 'now' }>): string {
  const whose = `Quiet hours of the ${quietHoursLayer === 'user_override' ? 'user' : 'tenant'}`;
  return time.kind === 'dropped' ? `${whose} drop it now.` : `${whose} delay it until ${time.at.toISOString()}.`;
}
