import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // One PostgreSQL for all suites; every test makes its own tenant in it.
    globalSetup: ['apps/server/test/support/global-setup.ts'],
    include: ['apps/**/*.test.ts', 'e2e/**/*.test.ts', 'tools/**/*.test.ts', 'bench/**/*.test.ts'],
    // For a single busy core. What takes longer has `vi.setConfig` with a timeout of its own in its file.
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // What a test waits for comes as soon as it can: the bound is for a busy machine, and never a figure that is promised.
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 2,
    // To load the service anew for each file would take longer than most of them: no module keeps anything that a test changes.
    isolate: false,
  },
});
