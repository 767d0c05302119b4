import { deleteInBatches } from '#core/data/db/batches';
import { securitySetting } from '#core/platform/limits/config';
import type { Services } from '#core/platform/services';
import { forgetMarks, listMarkedTenants } from '#modules/translation/entities/marks.queries';
import { forgetExcess, forgetOld, listMemories } from '#modules/translation/memory/memory.queries';
import { memoryLifeMs } from '#modules/translation/memory/terms';
import { entityTypeNames } from '#modules/translation/translation.types';

type Dependencies = Pick<Services, 'database' | 'now' | 'runtimeSettings'>;

/** Deletes expired and surplus translations, and marks of deleted records. */
export async function forgetTranslations(services: Dependencies, signal: AbortSignal): Promise<void> {
  await forgetMemories(services, signal);
  for (const { tenant_id: tenantId } of await services.database.platform().interactive.all(listMarkedTenants({}))) {
    const db = services.database.tenant(tenantId);
    for (const type of entityTypeNames) {
      await deleteInBatches(db, (max) => forgetMarks[type]({ tenantId, max }), signal);
    }
  }
}

async function forgetMemories(services: Dependencies, signal: AbortSignal): Promise<void> {
  const { cache_max_entries: max } = services.runtimeSettings.current(securitySetting);
  const before = new Date(services.now().getTime() - memoryLifeMs(services)).toISOString();
  for (const { tenant_id: tenantId, entries } of await services.database.platform().interactive.all(listMemories({}))) {
    const db = services.database.tenant(tenantId);
    const deleted = await deleteInBatches(db, (count) => forgetOld({ tenantId, before, max: count }), signal);
    await deleteInBatches(db, (count) => forgetExcess({ tenantId, max: count }), signal, entries - deleted - max);
  }
}
