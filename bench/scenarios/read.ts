import { requestBytes } from '../load.ts';
import { compare, type Scenario } from '../scenario.ts';

/** One contact by its id. */
export const read: Scenario = {
  name: 'read',
  async run(bench) {
    const { atrium, floor, seed } = bench;
    const { token, contactIds } = seed;
    return [
      await compare(
        bench,
        'read by key',
        {
          floor: { ...floor, status: 200, requests: contactIds.map((id) => requestBytes('GET', `/contacts/${id}`)) },
          atrium: {
            ...atrium,
            status: 200,
            requests: contactIds.map((id) => requestBytes('GET', `/api/v1/secure/contacts/${id}`, { token })),
          },
        },
        { atLeast: 0.9 },
      ),
    ];
  },
};
