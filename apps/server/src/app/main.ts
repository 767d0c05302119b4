import { enableCompileCache, flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Half of what a start costs is the compilation of a thousand files, which the next one, and every worker, finds done. Where
// the folder cannot be written, nothing is kept.
enableCompileCache(fileURLToPath(new URL('../../../../node_modules/.cache/atrium', import.meta.url)));
const { start } = await import('#app/start');
await start();
flushCompileCache();
