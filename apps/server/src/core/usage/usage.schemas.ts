import Type from 'typebox';

import { Timestamp, closed, nullable } from '#core/http/schemas';

const counts = { requests: Type.Integer(), errors: Type.Integer() };

/** What a credential was used for, as `usageOf` answers it. */
export const UsageSummary = closed(
  {
    total_requests: Type.Integer({ description: 'Since the credential exists.' }),
    requests_24h: Type.Integer(),
    requests_7d: Type.Integer(),
    requests_30d: Type.Integer(),
    errors_24h: Type.Integer({ description: 'Answers with a status of 400 or above.' }),
    last_used_at: nullable(Timestamp),
    last_used_ip: nullable(Type.String()),
    by_endpoint: Type.Array(closed({ operation: Type.String(), ...counts }), {
      description: 'Operations of the last thirty days, the most used first.',
    }),
    by_day: Type.Array(closed({ day: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }), ...counts }), {
      description: 'Days (UTC) of the last thirty on which there was a request, oldest first.',
    }),
  },
  { title: 'UsageSummary' },
);
