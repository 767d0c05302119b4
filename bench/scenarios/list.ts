import { requestBytes } from '../load.ts';
import { compare, type Bench, type Scenario } from '../scenario.ts';
import { contactCount } from '../seed.ts';

/** The first 50 contacts with the total, which the floor leaves out. */
export const list: Scenario = {
  name: 'list',
  async run(bench) {
    await assertTotal(bench);
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

/** A wrong total would be cheap to be fast with. */
async function assertTotal({ atrium, seed }: Bench): Promise<void> {
  const headers = { authorization: `Bearer ${seed.token}` };
  const response = await fetch(`${atrium.base}/api/v1/secure/contacts?limit=50`, { headers });
  const { data, pagination } = (await response.json()) as { data: unknown[]; pagination: { total: number } };
  if (data.length === 50 && pagination.total === contactCount) return;
  throw new Error(`the list has ${data.length} of ${pagination.total} contacts instead of 50 of ${contactCount}`);
}
