import type pg from 'pg';

import { newId } from '#core/base/crypto/ids';
import { LineBatch } from '#core/data/log/line-batch';
import { insertLines } from '#core/data/log/log-store.queries';
import { withClient } from '#test/support/database';

type Planted = { at: Date; service: string; message: string; level?: number; userId?: string | null };

/** Lines as if they had been said at another time: written by one statement. */
export async function plantLogLines(connection: pg.ClientConfig, lines: readonly Planted[]): Promise<void> {
  const batch = new LineBatch(lines[0]!.level ?? 30);
  for (const { at, service, message, userId = null } of lines)
    batch.add({
      at: at.getTime(),
      id: newId(at.getTime()),
      level: batch.level,
      service,
      message,
      tenantId: null,
      userId,
      requestId: null,
      context: '{}',
      size: message.length,
    });
  const { text, values } = insertLines(batch.toColumns());
  await withClient(connection, (client) => client.query({ text, values: [...values] }));
}
