import type { Actor, Person } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { canonicalRange } from '#core/base/net/ranges';
import type { AuditEvent } from '#core/data/audit/audit.queries';
import { auditForSystem } from '#core/data/audit/system-trail';
import type { Transaction } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { parseSort, toPage, type SetHeader } from '#core/http/paging';
import { announceRules, type IpRuleRow } from '#core/platform/limits/address-rules.queries';
import { securitySetting } from '#core/platform/limits/config';
import type { Services } from '#core/platform/services';
import {
  countIpRules,
  deleteIpRule as deleteIpRuleRow,
  deleteReplaceable,
  findIpRule,
  insertIpRule,
  listIpRules as listIpRuleRows,
  listVerdicts,
  lockIpRules,
  updateIpRule as updateIpRuleRow,
  type IpRuleChanges,
} from '#modules/security/ip-rules.queries';
import { assertNoSelfLockout, refusalPeriod } from '#modules/security/lock-out.rules';
import { IpRuleNotFound, RuleExpiresInThePast } from '#modules/security/security.errors';
import type { CreateIpRuleBody, ListIpRulesQuery, UpdateIpRuleBody } from '#modules/security/security.schemas';

type Dependencies = Pick<Services, 'database' | 'limits' | 'now' | 'runtimeSettings'>;

type Scope = {
  services: Dependencies;
  actor: Actor<Person>;
  /** Whether the caller confirms a change that blocks the caller's address. */
  force: boolean;
};

export async function listIpRules(
  { services, setHeader }: { services: Dependencies; setHeader: SetHeader },
  query: ListIpRulesQuery,
) {
  const { limit = 50, offset = 0, sort, action, source, active, address } = query;
  const covering = address === undefined ? undefined : canonicalRange(address);
  const filters = { action, source, active, covering, now: services.now().toISOString() };
  const order = parseSort(sort) ?? { column: 'created_at', descending: true };
  const { rows, ...total } = await pageOfMatches(
    services.database.platform(),
    listIpRuleRows(filters, { limit, offset, order }),
    countIpRules(filters),
    { limit, offset },
  );
  return toPage(rows, { limit, offset }, total, setHeader);
}

/** @throws IpRuleNotFound */
export async function getIpRule(services: Dependencies, id: string) {
  const row = await services.database.platform().first(findIpRule({ id }));
  if (row === undefined) throw IpRuleNotFound();
  return { data: row };
}

/** @throws RuleExpiresInThePast, RangeTaken, SelfLockout */
export async function createIpRule(scope: Scope, body: CreateIpRuleBody) {
  const { services, actor } = scope;
  const now = services.now();
  const at = now.toISOString();
  const range = canonicalRange(body.range)!;
  const expiresAt = toStored(body.expires_at ?? null);
  if (expiresAt !== null && Date.parse(expiresAt) <= now.getTime()) throw RuleExpiresInThePast();
  const row = await change(scope, async (tx) => {
    await tx.all(deleteReplaceable({ range, now: at }));
    const created = await tx.first(
      insertIpRule({
        id: newId(),
        range,
        action: body.action,
        reason: body.reason ?? null,
        expires_at: expiresAt,
        created_by: actor.userId,
        created_at: at,
      }),
    );
    return { row: created!, event: { action: 'ip_rule.created', details: { fields: Object.keys(body), range } } };
  });
  return { data: row };
}

/** @throws IpRuleNotFound, SelfLockout */
export async function updateIpRule(scope: Scope, id: string, body: UpdateIpRuleBody) {
  const { services } = scope;
  const at = services.now().toISOString();
  const { expires_at: expiresAt, ...rest } = body;
  const changes: IpRuleChanges = rest;
  // A time in the past means now.
  if (expiresAt !== undefined) changes.expires_at = earliest(toStored(expiresAt), at);
  const row = await change(scope, async (tx) => {
    const updated = await tx.first(updateIpRuleRow(id, changes, at));
    if (updated === undefined) throw IpRuleNotFound();
    const details = { fields: Object.keys(body), range: updated.range };
    return { row: updated, event: { action: 'ip_rule.updated', details } };
  });
  return { data: row };
}

/** @throws IpRuleNotFound, SelfLockout */
export async function deleteIpRule(scope: Scope, id: string): Promise<void> {
  await change(scope, async (tx) => {
    const row = await tx.first(findIpRule({ id }));
    if (row === undefined) throw IpRuleNotFound();
    await tx.all(deleteIpRuleRow({ id }));
    return { row, event: { action: 'ip_rule.deleted', details: { range: row.range } } };
  });
}

type Changed = { row: IpRuleRow; event: Pick<AuditEvent, 'action' | 'details'> };

/**
 * Changes the rules; they apply in this process when it resolves, and the audit trail of the system tenant records
 * them.
 */
async function change(scope: Scope, work: (tx: Transaction) => Promise<Changed>): Promise<IpRuleRow> {
  const { services, actor, force } = scope;
  const now = services.now();
  const at = now.toISOString();
  const changed = await services.database.platform().transaction(async (tx) => {
    await tx.all(lockIpRules({}));
    const { value: config } = await services.runtimeSettings.read(securitySetting, tx);
    const verdicts = listVerdicts({ address: actor.request.ip, now: at });
    const before = refusalPeriod(await tx.all(verdicts), config, now);
    const { row, event } = await work(tx);
    if (!force) assertNoSelfLockout(before, refusalPeriod(await tx.all(verdicts), config, now));
    await tx.all(announceRules());
    await auditForSystem(tx, actor, at, { ...event, resourceType: 'ip_rule', resourceId: row.id });
    return row;
  });
  await services.limits.rules.reload();
  return changed;
}

function toStored(instant: string | null): string | null {
  return instant === null ? null : new Date(instant).toISOString();
}

function earliest(instant: string | null, now: string): string | null {
  return instant !== null && instant < now ? now : instant;
}
