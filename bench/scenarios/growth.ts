import { grow, measuredRows, type GrowthTable } from '../growth-seed.ts';
import type { Scenario } from '../scenario.ts';
import { ask, compareSizes, type Probe, type Side } from '../two-sizes.ts';

const fewTenants = 10;
const manyTenants = { quick: 1000, full: 10_000 };

/** The same requests of a tenant of 1,000 rows, alone with 9 others and among thousands. */
export const growth: Scenario = {
  name: 'growth',
  run: (bench) =>
    compareSizes(bench, {
      name: 'growth',
      few: fewTenants,
      many: manyTenants[bench.named.includes('growth') && !bench.isQuick ? 'full' : 'quick'],
      fill: grow,
      probes: [...probesOf('contacts', 'contact', ['last ', 997]), ...probesOf('spaces', 'space', ['room ', 500])],
      atMost: 1.15,
      describe: (tenants) => `${tenants.toLocaleString('en')} tenants`,
    }),
};

function probesOf(table: GrowthTable, one: string, [prefix, below]: [string, number]): readonly Probe[] {
  return [
    {
      name: `read a ${one}`,
      paths: async (side) => (await readIds(side, table)).map((id) => `/${table}/${id}`),
    },
    { name: `list ${table}`, paths: () => [`/${table}?limit=50`] },
    { name: `search ${table}`, paths: () => searches(table, prefix, below) },
  ];
}

const differentSearches = 60;

/** Different words, so that no plan is made for one of them. */
function searches(table: GrowthTable, prefix: string, below: number): string[] {
  return Array.from({ length: differentSearches }, (_, at) => {
    const word = Math.floor((at * below) / differentSearches);
    return `/${table}?limit=50&search=${encodeURIComponent(`${prefix}${word}`)}`;
  });
}

/** @throws Error when the tenant has not the rows that it should have: a wrong total would be cheap to be fast with. */
async function readIds(side: Side, table: GrowthTable): Promise<string[]> {
  const { data, pagination } = await ask<{ data: { id: string }[]; pagination: { total: number } }>(
    side,
    `/${table}?limit=200`,
  );
  if (pagination.total === measuredRows[table] && data.length === 200) return data.map(({ id }) => id);
  throw new Error(`${data.length} of ${pagination.total} ${table} instead of 200 of ${measuredRows[table]}`);
}
