import type { Work } from '#core/platform/queue/work';
import { leftoversWork, type Leftovers } from '#modules/auth/index';
import { removeLeftovers } from '#modules/users/users.service';

export const leftovers: Work<Leftovers> = {
  name: leftoversWork,
  concurrency: 1,
  attempts: 10,
  backoff: { firstSeconds: 10, maxSeconds: 3600 },
  timeoutMs: 60_000,
  run: ({ services, data }) => removeLeftovers(services, data),
};
