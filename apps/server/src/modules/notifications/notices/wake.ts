import type { Services } from '#core/platform/services';

/** Queue of fan-out tasks; one task of a tenant runs at a time. */
export const noticesWork = 'notifications-notices';

export type OfTenant = { tenantId: string };

export const taskOf = (tenantId: string) => ({ data: { tenantId }, key: tenantId });

/**
 * Starts the fan-out at once; call it after the commit. A failure loses nothing: a job looks for unfinished notices every
 * minute.
 */
export async function wakeNotices({ queue, log }: Pick<Services, 'queue' | 'log'>, tenantId: string): Promise<void> {
  try {
    const { data, key } = taskOf(tenantId);
    await queue.send(noticesWork, data, { key });
  } catch (error) {
    log.warn({ err: error }, 'notices wait for the next run of the sweep job');
  }
}
