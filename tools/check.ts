import path from 'node:path';

import { gates } from './checks/gates.ts';
import { pass } from './checks/run.ts';

const passed = await pass(Object.values(gates), path.join(import.meta.dirname, '..'), console.log);
process.exitCode = passed ? 0 : 1;
