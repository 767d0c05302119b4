import path from 'node:path';

import { publicUrlOf, type Config } from '#app/config';

/** Time for running requests after the process is told to stop. */
export const drainTimeoutMs = 15_000;

/** Time for running requests in a worker that was replaced. */
export const retirementMs = 5 * 60_000;

export type Announced = { version: string; port: number; generatedPassword: string | undefined };

/** Prints the addresses of the service once. */
export function announce({ version, port, generatedPassword }: Announced, config: Config): void {
  const base = publicUrlOf({ ...config, PORT: port });
  const lines = [
    `Atrium ${version} serves on ${base}`,
    `API reference  ${base}/docs`,
    config.DATABASE_URL === undefined
      ? `Data folder    ${path.resolve(config.DATA_DIR)}`
      : 'Database       DATABASE_URL',
  ];
  if (generatedPassword !== undefined) {
    lines.push(`System admin   ${config.SYSTEM_ADMIN_EMAIL}  password ${generatedPassword}  (shown this once)`);
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}
