import { hash, verify } from '@node-rs/argon2';
/** The floor of login: how many argon2id checks per second one process does. Each line `<milliseconds>` is answered with a rate. */
import { createInterface } from 'node:readline';

// The service's own defaults: PASSWORD_MEMORY_KIB and PASSWORD_PASSES.
const argon2 = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const concurrency = Number(process.argv[2]);
const password = 'a password of usual length';
const stored = await hash(password, argon2);

async function rate(durationMs: number): Promise<number> {
  let count = 0;
  const start = performance.now();
  const worker = async () => {
    while (performance.now() - start < durationMs) {
      await verify(stored, password);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return count / ((performance.now() - start) / 1000);
}

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${await rate(Number(line))}\n`);
}
