import { beforeEach, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import type { Query } from '#core/data/db/query';
import { claimNextMail, noOwner, queueDueMail } from '#core/platform/mail/mail.queries';
import { withClient } from '#test/support/database';
import { useService } from '#test/support/harness';

// Alone, because it counts the rows that a statement reads; the service itself has no mail server.
const test = useService({ ownDatabase: true });
const now = new Date().toISOString();
const ahead = new Date(Date.parse(now) + 3_600_000).toISOString();
const leaseMs = 60_000;
const owners = 10_000;

const outbox = () => test.service.services.database.platform().interactive;
const run = <Row>(text: string, values: unknown[] = []) =>
  outbox().all<Row>({ kind: 'write', text, values, prepare: false });

const insert = (text: string, values: unknown[]) =>
  test.service.services.database.credential().interactive.all({ kind: 'write', text, values, prepare: false });

type Node = {
  'Node Type': string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Node[];
};
const flatten = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(flatten)];

/** The indexes that a statement uses when it runs, and how many rows its scans read. */
async function explain({ text, values }: Query<unknown>) {
  const [row] = await run<{ 'QUERY PLAN': { Plan: Node }[] }>(`explain (analyze, format json) ${text}`, [...values]);
  const nodes = flatten(row!['QUERY PLAN'][0]!.Plan);
  const read = (node: Node) => (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
  return {
    indexes: new Set(nodes.flatMap((node) => node['Index Name'] ?? [])),
    types: nodes.map((node) => node['Node Type']),
    rows: nodes.filter((node) => node['Node Type'].includes('Scan')).reduce((sum, node) => sum + read(node), 0),
  };
}

/** One mail for each of the owners. */
const fill = (queued: boolean, nextAttemptAt: string) =>
  insert(
    `insert into mail_outbox (id, owner_id, recipient, subject, body, priority, created_at, attempts, next_attempt_at, queued)
     select gen_random_uuid(), gen_random_uuid(), 'b@example.com', 'x', 'x', n % 3, $1, 1, $2, $3 from generate_series(1, $4::int) n`,
    [now, nextAttemptAt, queued, owners],
  );

beforeEach(async () => {
  await run('delete from mail_outbox');
});

describe('a claim among mails of 10,000 owners', () => {
  it.each([
    ['wait for their retry', false, ahead],
    ['are queued', true, now],
  ])('reads a constant number of rows when all %s', async (_what, queued, nextAttemptAt) => {
    await fill(queued, nextAttemptAt);
    await withClient(test.connection, (client) => client.query('analyze mail_outbox'));
    const claim = await explain(claimNextMail({ leaseMs, after: [noOwner, noOwner, noOwner] }));
    expect(claim.indexes).toContain('mail_outbox_queued');
    expect(claim.types).not.toContain('Seq Scan');
    expect(claim.rows).toBeLessThan(20);
    const queueing = await explain(queueDueMail({ max: 100 }));
    expect(queueing.indexes).toContain('mail_outbox_delayed');
    expect(queueing.types).not.toContain('Seq Scan');
    expect(queueing.rows).toBeLessThan(20);
  });

  it('takes one mail of each owner in turn, also after their retry delay', async () => {
    const [flood, quiet, other] = [newId(), newId(), newId()];
    const fillOwner = (ownerId: string, count: number) =>
      insert(
        `insert into mail_outbox (id, owner_id, recipient, subject, body, priority, created_at, attempts, next_attempt_at, queued)
         select gen_random_uuid(), $1, 'b@example.com', 'x', 'x', 1, $2, 1, $2, false from generate_series(1, $3::int)`,
        [ownerId, now, count],
      );
    await fillOwner(flood, 50);
    await fillOwner(quiet, 2);
    await fillOwner(other, 2);
    const after = [noOwner, noOwner, noOwner];
    const claimed: string[] = [];
    for (let count = 0; count < 6; count++) {
      const queueing = queueDueMail({ max: 100 });
      const [, [mail]] = await outbox().batch([queueing, claimNextMail({ leaseMs, after })]);
      after[1] = mail!.owner_id;
      claimed.push(mail!.owner_id);
    }
    expect(claimed.toSorted()).toEqual([flood, flood, quiet, quiet, other, other].toSorted());
  });

  it('claims each mail once, when 50 claims run in parallel', async () => {
    await fill(false, now);
    await run('delete from mail_outbox where id not in (select id from mail_outbox limit 40)');
    const claims = await Promise.all(
      Array.from({ length: 50 }, () =>
        outbox().batch([queueDueMail({ max: 100 }), claimNextMail({ leaseMs, after: [noOwner, noOwner, noOwner] })]),
      ),
    );
    const ids = claims.flatMap(([, mails]) => mails.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    const left = await run('select id from mail_outbox where attempts = 1');
    expect(ids.length + left.length).toBe(40);
  });
});
