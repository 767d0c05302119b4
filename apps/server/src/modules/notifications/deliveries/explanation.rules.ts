import type { DeliveryRow } from '#modules/notifications/notifications.tables';
import { deliveryReasons, type Layer } from '#modules/notifications/notifications.types';

/** Which layer decided about the channel. */
const deciders: Record<Layer, string> = {
  locked: 'A locked default of the tenant decided.',
  user_override: 'A preference of the user decided.',
  tenant_default: 'A default of the tenant decided.',
  built_in: 'Neither the user nor the tenant has a preference; the built-in default decided.',
};

/** Explains the state of a delivery to people. */
export function sentenceOf({ reason, layer, interruptions }: Pick<DeliveryRow, 'reason' | 'layer' | 'interruptions'>) {
  const sentences = [deliveryReasons[reason], deciders[layer]];
  if (interruptions > 0) {
    const attempts = interruptions === 1 ? 'an attempt' : `${interruptions} attempts`;
    sentences.push(`The outcome of ${attempts} is unknown: it may have arrived more than once.`);
  }
  return sentences.join(' ');
}
