import type { Job } from '#core/platform/jobs/job';
import { renewSystemCatalog } from '#modules/models/catalog.service';

export const renewal: Job = {
  name: 'models-renewal',
  description: 'Refreshes the model catalogs of the installation, which serve all tenants, before they are a day old.',
  schedule: '47 * * * *',
  catchUp: 'run_once',
  timeoutMs: 2 * 60_000,
  async run({ services, signal }) {
    const text = await renewSystemCatalog(services, 'text', signal);
    signal.throwIfAborted();
    return { text, image: await renewSystemCatalog(services, 'image', signal) };
  },
};
