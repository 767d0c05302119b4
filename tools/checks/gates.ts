import { architecture } from './architecture.ts';
import { migrations } from './migrations.ts';
import { outside } from './outside.ts';
import { prose } from './prose.ts';
import { queries } from './queries.ts';
import { toolGate } from './run.ts';
import { suites } from './suites.ts';
import { suppressions } from './suppressions.ts';

/** Everything that has to hold before a change is taken, in the order in which it is reported. */
export const gates = {
  types: toolGate('types', 'tsc', ['-p', '.']),
  format: toolGate('format', 'oxfmt', ['--check', '.']),
  lint: toolGate('lint', 'oxlint', ['--deny-warnings', '--report-unused-disable-directives', '--format', 'unix', '.']),
  suppressions,
  prose,
  architecture: architecture(120),
  outside,
  migrations,
  queries,
  suites,
  'dead-code': toolGate('dead-code', 'knip', ['--no-progress', '--no-config-hints']),
};
