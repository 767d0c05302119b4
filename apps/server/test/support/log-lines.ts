import type pg from 'pg';

import { newId } from '#core/crypto/ids';
import { LineBlock } from '#core/log/line-block';
import { insertLogBlock } from '#core/log/log-store.queries';
import { withClient } from '#test/support/database';

type Planted = { at: Date; service: string; message: string; level?: number; userId?: string | null };

/** Lines as if they had been said at another time: a block of their own for all that are given together. */
export async function plantLogLines(connection: pg.ClientConfig, lines: readonly Planted[]): Promise<void> {
  const block = new LineBlock(lines[0]!.level ?? 30);
  for (const { at, service, message, userId = null } of lines)
    block.add({
      at: at.getTime(),
      id: newId(at.getTime()),
      level: block.level,
      service,
      message,
      tenantId: null,
      userId,
      requestId: null,
      context: '{}',
      size: message.length,
    });
  const { text, values } = insertLogBlock(block.toRow());
  await withClient(connection, (client) => client.query({ text, values: [...values] }));
}
