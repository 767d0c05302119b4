import { defineModule } from '#core/http/route';
import type { Job } from '#core/platform/jobs/job';
import { forgetTranslations } from '#modules/translation/clean-up';
import { sweepJobs, translateInBackground } from '#modules/translation/jobs/background';
import { EqualJobRunning } from '#modules/translation/jobs/jobs.errors';
import { jobRoutes } from '#modules/translation/jobs/jobs.routes';
import { translationRoutes } from '#modules/translation/translation.routes';

const cleanUp: Job = {
  name: 'translation-clean-up',
  description: 'Deletes expired and surplus translations from the memory, and the marks of deleted records.',
  schedule: '*/15 * * * *',
  catchUp: 'run_once',
  timeoutMs: 10 * 60_000,
  run: ({ services, signal }) => forgetTranslations(services, signal),
};

/** Translation of texts, and of names and descriptions of records, by outside providers. */
export const translationModule = defineModule({
  name: 'translation',
  description: 'Translation of texts, and of names and descriptions of records',
  constraints: { translation_jobs_equal: EqualJobRunning },
  routes: [...translationRoutes, ...jobRoutes],
  jobs: [cleanUp, sweepJobs],
  work: [translateInBackground],
});
