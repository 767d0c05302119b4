import { requestBytes } from '../load.ts';
import { contactReads } from '../paced-reads.ts';
import { compare, type Scenario } from '../scenario.ts';

/** One contact by its id. */
export const read: Scenario = {
  name: 'read',
  async run(bench) {
    const { atrium, floor, seed } = bench;
    return [
      await compare(
        bench,
        'read by key',
        {
          floor: {
            ...floor,
            status: 200,
            requests: seed.contactIds.map((id) => requestBytes('GET', `/contacts/${id}`)),
          },
          atrium: {
            ...atrium,
            status: 200,
            requests: contactReads(seed),
          },
        },
        { atLeast: 0.9 },
      ),
    ];
  },
};
