import path from 'node:path';

import { publicUrlOf, type Config } from '#app/config';

/** How long what is under way may take once the process is told to stop. */
export const drainTimeoutMs = 15_000;

export type Announced = { version: string; port: number; generatedPassword: string | undefined };

/** Says once where the service is found. */
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
