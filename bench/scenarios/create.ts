import { requestBytes } from '../load.ts';
import { compare, type Scenario } from '../scenario.ts';

const bodies = Array.from({ length: 200 }, (_, at) => ({
  firstName: `First ${at}`,
  lastName: `Last ${at}`,
  email: `new-${at}@example.com`,
  phone: `+49 40 ${2_000_000 + at}`,
  address: { street: `Side Street ${at}`, city: 'Hamburg', country_code: 'DE' },
  notes: 'Came by on the open day.',
}));

/** A contact with its audit row, both on disk; the floor writes one row into a table of the same shape. */
export const create: Scenario = {
  name: 'create',
  async run(bench) {
    const { atrium, floor, seed } = bench;
    const requests = (path: string, token?: string) =>
      bodies.map((body) => requestBytes('POST', path, { body, ...(token === undefined ? {} : { token }) }));
    return [
      await compare(
        bench,
        'create with audit row',
        {
          floor: { ...floor, status: 201, requests: requests('/contacts') },
          atrium: { ...atrium, status: 201, requests: requests('/api/v1/secure/contacts', seed.token) },
        },
        { atLeast: 0.7 },
      ),
    ];
  },
};
