import { withClient } from '#test/support/database';
import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    estimateModelCost: () => ({
      model_id: 'sample/model',
      task: 'text',
      characters: 1000,
      expected_output_characters: 200,
    }),
  },
  records: async ({ test, tenant }) => {
    await withClient(test.connection, (client) =>
      client.query(`insert into model_catalogs (tenant_id, task) values ($1, 'text') on conflict do nothing`, [
        tenant.tenantId,
      ]),
    );
    return {};
  },
};
