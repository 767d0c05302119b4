import { requestBytes } from '../load.ts';
import { compare, type Scenario } from '../scenario.ts';

/** The first 50 contacts with the total, which the floor leaves out. */
export const list: Scenario = {
  name: 'list',
  async run(bench) {
    const { atrium, floor, seed } = bench;
    const request = requestBytes('GET', '/api/v1/secure/contacts?limit=50', { token: seed.token });
    return [
      await compare(
        bench,
        'list of 50 with total',
        {
          floor: { ...floor, status: 200, requests: [requestBytes('GET', '/contacts')] },
          atrium: { ...atrium, status: 200, requests: [request] },
        },
        { atLeast: 0.9 },
      ),
    ];
  },
};
