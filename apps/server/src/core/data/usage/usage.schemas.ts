import Type from 'typebox';

import { Timestamp, closed, nullable } from '#core/base/schemas';

const counts = {
  requests: Type.Integer({ description: 'Number of requests.' }),
  errors: Type.Integer({ description: 'Number of answers with a status of 400 or above.' }),
};

/** Usage of a credential, as `usageOf` answers it. */
export const UsageSummary = closed(
  {
    total_requests: Type.Integer({ description: 'Requests since the creation of the credential.' }),
    requests_24h: Type.Integer({ description: 'Requests of the last 24 hours.' }),
    requests_7d: Type.Integer({ description: 'Requests of the last 7 days.' }),
    requests_30d: Type.Integer({ description: 'Requests of the last 30 days.' }),
    errors_24h: Type.Integer({ description: 'Answers of the last 24 hours with a status of 400 or above.' }),
    last_used_at: nullable(Timestamp),
    last_used_ip: nullable(Type.String(), { description: 'Client address of the latest request; null if unused.' }),
    by_endpoint: Type.Array(
      closed({ operation: Type.String({ description: 'Operation, by its `operationId`.' }), ...counts }),
      {
        description: 'Operations of the last thirty days, the most used first.',
      },
    ),
    by_day: Type.Array(
      closed({
        day: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'Day in UTC (`YYYY-MM-DD`).' }),
        ...counts,
      }),
      {
        description: 'Days (UTC) of the last thirty on which there was a request, oldest first.',
      },
    ),
  },
  { title: 'UsageSummary' },
);
