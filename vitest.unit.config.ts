import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

// A test that takes nothing from the test support needs neither a database nor the service.
const needsService = /#test\/|inject\(|\/(testing|support)\/|node:child_process/;
const isUnit = (file: string) => !needsService.test(readFileSync(file, 'utf8'));

export default defineConfig({
  test: {
    include: globSync(['apps/*/src/**/*.test.ts', 'tools/**/*.test.ts'], {
      exclude: (name) => name.includes('node_modules'),
    }).filter(isUnit),
    testTimeout: 10_000,
    maxWorkers: 2,
    isolate: false,
  },
});
