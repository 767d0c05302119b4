import { defineModule } from '#core/http/route';
import type { Job } from '#core/jobs/job';
import { forgetTranslations } from '#modules/translation/clean-up';
import { sweepJobs, translateInBackground } from '#modules/translation/jobs/background';
import { EqualJobRunning } from '#modules/translation/jobs/jobs.errors';
import { jobRoutes } from '#modules/translation/jobs/jobs.routes';
import { translationRoutes } from '#modules/translation/translation.routes';

const cleanUp: Job = {
  name: 'translation-clean-up',
  description: 'Forgets translations that are too old or too many, and what is known of the texts of deleted records.',
  schedule: '*/15 * * * *',
  catchUp: 'run_once',
  timeoutMs: 10 * 60_000,
  run: ({ services, signal }) => forgetTranslations(services, signal),
};

/** Texts, and names and descriptions of records, in other languages, by providers outside. */
export const translationModule = defineModule({
  name: 'translation',
  description: 'Texts, and names and descriptions of records, in other languages',
  constraints: { translation_jobs_equal: EqualJobRunning },
  routes: [...translationRoutes, ...jobRoutes],
  jobs: [cleanUp, sweepJobs],
  work: [translateInBackground],
});
