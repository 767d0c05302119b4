import type { Channel } from '#modules/notifications/notifications.types';
import type { Decision, Time } from '#modules/notifications/preferences/decision.rules';

/** Why somebody gets something on a channel or does not, for whoever wonders about it. */
export function explain(decision: Decision, channel: Channel, time: Time): string {
  const reason = reasonOf(decision, channel);
  return decision.isEnabled && time.kind !== 'now' ? `${reason} ${delayOf(decision, time)}` : reason;
}

function reasonOf({ layer, isEnabled, category }: Decision, channel: Channel): string {
  const turned = `${channel} ${isEnabled ? 'on' : 'off'}`;
  const about = category === '*' ? 'everything' : category;
  switch (layer) {
    case 'locked':
      return `The tenant has turned ${turned} for ${about} and locked it: nobody can decide otherwise.`;
    case 'user_override':
      return `The person has turned ${turned} for ${about}.`;
    case 'tenant_default':
      return `The tenant has turned ${turned} for ${about}, and the person has said nothing about it.`;
    case 'built_in':
      return `Neither the person nor the tenant has said anything, and ${channel} is ${isEnabled ? 'on' : 'off'} then.`;
  }
}

function delayOf({ quietHoursLayer }: Decision, time: Exclude<Time, { kind: 'now' }>): string {
  const whose = `Quiet hours of the ${quietHoursLayer === 'user_override' ? 'person' : 'tenant'}`;
  return time.kind === 'dropped' ? `${whose} drop it now.` : `${whose} delay it until ${time.at.toISOString()}.`;
}
