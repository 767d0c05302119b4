import { defineModule } from '#core/http/route';
import { EqualJobRunning } from '#modules/translation/jobs/jobs.errors';
import { jobRoutes } from '#modules/translation/jobs/jobs.routes';
import { cleanUp, sweepJobs, translateInBackground } from '#modules/translation/translation.jobs';
import { translationRoutes } from '#modules/translation/translation.routes';

/** Translation of texts, and of names and descriptions of records, by outside providers. */
export const translationModule = defineModule({
  name: 'translation',
  description: 'Translation of texts, and of names and descriptions of records',
  constraints: { translation_jobs_equal: EqualJobRunning },
  routes: [...translationRoutes, ...jobRoutes],
  jobs: [cleanUp, sweepJobs],
  work: [translateInBackground],
});
