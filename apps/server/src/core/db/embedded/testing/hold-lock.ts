import { lockDataDir } from '../lock.ts';

// Run as a process of its own: tries for the lock at the given time, tells whether it got it, and holds it until killed.
const [dataDir = '', at = '0'] = process.argv.slice(2);
while (Date.now() < Number(at));
try {
  lockDataDir(dataDir);
  console.log('won');
} catch (error) {
  console.log((error as { code?: string }).code);
}
setInterval(() => undefined, 60_000);
