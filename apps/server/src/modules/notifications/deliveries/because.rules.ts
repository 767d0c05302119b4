import type { Delivery } from '#modules/notifications/deliveries/deliveries.types';
import { deliveryReasons, type Layer } from '#modules/notifications/notifications.types';

/** Who has decided that a channel is, or is not, taken. */
const deciders: Record<Layer, string> = {
  locked: 'The default of the tenant decided, which it has locked.',
  user_override: 'What the person has said decided.',
  tenant_default: 'The default of the tenant decided.',
  built_in: 'Neither the person nor the tenant has said anything; the built-in default decided.',
};

/** Why a delivery is what it is, for whoever asks why they got something, or did not. */
export function sentenceOf({ reason, layer, interruptions }: Pick<Delivery, 'reason' | 'layer' | 'interruptions'>) {
  const sentences = [deliveryReasons[reason], deciders[layer]];
  if (interruptions > 0) {
    const attempts = interruptions === 1 ? 'an attempt' : `${interruptions} attempts`;
    sentences.push(`Nobody saw the end of ${attempts}: it may have arrived more than once.`);
  }
  return sentences.join(' ');
}
