import { enableCompileCache, flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Compilation is half of the cost of a start, so later starts and workers reuse it. Nothing is cached if the folder is
// read-only.
enableCompileCache(fileURLToPath(new URL('../../../../node_modules/.cache/atrium', import.meta.url)));
const { start } = await import('#app/start');
await start();
flushCompileCache();
