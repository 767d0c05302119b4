import path from 'node:path';

import { gates } from './checks/gates.ts';
import { pass } from './checks/run.ts';

// `npm run check` runs all gates, `npm run check -- prose lint` those that are named.
const named = process.argv.slice(2);
const known = Object.values(gates);
const unknown = named.filter((name) => !known.some((gate) => gate.name === name));
if (unknown.length > 0)
  throw new Error(`There is no gate ${unknown.join(', ')}: ${known.map(({ name }) => name).join(', ')}`);

const chosen = named.length === 0 ? known : known.filter(({ name }) => named.includes(name));
process.exitCode = (await pass(chosen, path.join(import.meta.dirname, '..'), console.log)) ? 0 : 1;
