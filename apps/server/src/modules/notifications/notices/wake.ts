import type { Services } from '#core/services';

/** The work that tells people what there is to tell, one turn of a tenant at a time. */
export const noticesWork = 'notifications-notices';

export type OfTenant = { tenantId: string };

export const pieceOf = (tenantId: string) => ({ data: { tenantId }, key: tenantId });

/**
 * Has people told at once what a transaction has left for them; call it after the commit. Where it fails nothing is lost: it is
 * looked for every minute.
 */
export async function wakeNotices({ queue, log }: Pick<Services, 'queue' | 'log'>, tenantId: string): Promise<void> {
  try {
    const { data, key } = pieceOf(tenantId);
    await queue.send(noticesWork, data, { key });
  } catch (error) {
    log.warn({ err: error }, 'notices wait for the next look for what was left behind');
  }
}
