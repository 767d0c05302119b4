import { expect } from 'vitest';

import type { OutboxMail } from '#core/platform/mail/mail.queries';
import { TooManyInvitations } from '#modules/auth/auth.errors';
import { invitationMailAttempt } from '#modules/auth/login/rate-limits';
import { createMember, createTenant, joinTenant, unique, type Person, type Tenant } from '#test/support/factories';
import type { Answer, Call, TestService } from '#test/support/harness';

/** A clock that only tests move, independent of the load of the machine; it never returns the same time twice. */
export function createClock(startsAt: Date = new Date()) {
  let last = startsAt.getTime();
  return {
    now: () => new Date((last += 1)),
    advance: (ms: number) => void (last += ms),
  };
}

export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

/** Calls a public authentication operation. */
export function post(test: TestService, operation: string, body?: unknown, call: Call = {}): Promise<Answer> {
  return test.call('POST', `/api/v1/public/auth/${operation}`, { ...call, ...(body === undefined ? {} : { body }) });
}

/** The status of an ordinary request with the access token. */
export async function statusOf(test: TestService, token: string): Promise<number> {
  return (await test.call('GET', '/api/v1/auth/me', { token })).status;
}

export function inParallel(times: number, call: (at: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: times }, (_, at) => call(at)));
}

/** The number of answers by status. */
export function countStatuses(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The bytes of an error body that must not distinguish cases. */
export function comparable(answer: Answer): string {
  return answer.text.replace(/"requestId":"[^"]*"/, '"requestId":""').replace(/"timestamp":"[^"]*"/, '"timestamp":""');
}

/** A person with one password and two tenants, logged in at neither. */
export async function createPersonOfTwo(test: TestService) {
  const [first, second] = [await createTenant(test), await createTenant(test)];
  const person = await createMember(test, first);
  await joinTenant(test, second, person);
  const { email, password } = person;
  return { email, password, first, second };
}

/** Mails to the address that wait in the outbox, newest first. */
export async function outboxOf(test: TestService, admin: Person, recipient: string) {
  const mails: { recipient: string; subject: string; text: string; attempts: number; sent_at: string | null }[] = [];
  for (let offset = 0; ; offset += 200) {
    const url = `/api/v1/system/mail-outbox?limit=200&offset=${offset}`;
    const page = await test.call('GET', url, { token: admin.token });
    expect(page.status).toBe(200);
    mails.push(...page.body.data.filter((mail: { recipient: string }) => mail.recipient === recipient));
    if (!page.body.pagination.hasMore) return mails;
  }
}

/**
 * Mails to the address, newest first, read without the API: operators who log in for each would evict each other's
 * sessions.
 */
export async function mailsTo(test: TestService, recipient: string) {
  const { database, mail: relay } = test.service.services;
  const text = 'select * from mail_outbox where recipient = $1 order by id desc';
  const mails = await database.platform().all<OutboxMail>({ kind: 'read', text, values: [recipient], prepare: false });
  return mails.map((mail) => ({ ...mail, text: relay.read(mail) }));
}

/** Requests a reset mail and reads its token. */
export async function requestReset(test: TestService, email: string): Promise<string> {
  expect((await post(test, 'forgot-password', { email })).status).toBe(200);
  return mailedToken(test, email);
}

/** Invites a person to the tenant and reads the mailed token. */
export async function invite(test: TestService, tenant: Tenant, body: { email: string } & Record<string, unknown>) {
  const { token } = tenant.admin;
  const invited = await test.call('POST', '/api/v1/secure/users/invite', { token, body });
  expect(invited).toMatchObject({ status: 201, body: { data: { status: 'invited' } } });
  return { userId: invited.body.data.id as string, token: await mailedToken(test, body.email) };
}

/** As if the tenant had mailed the given number of invitations, each to another address. */
export async function countInvitations(test: TestService, tenantId: string, times: number): Promise<void> {
  for (let count = 0; count < times; count++) {
    const to = { email: newEmail(), tenantId, isProven: true };
    await invitationMailAttempt(test.service.services, to, TooManyInvitations).admit();
  }
}

/** The token in the newest mail to the address. */
export async function mailedToken(test: TestService, email: string): Promise<string> {
  const [mail] = await mailsTo(test, email);
  return tokenIn(mail!.text);
}

export function tokenIn(text: string): string {
  return /#token=([\w-]{43})\n/.exec(text)![1]!;
}

/** The actions in the audit trail of the user's tenant, newest first. */
export async function auditOf(test: TestService, admin: { token: string }, action: string) {
  const trail = await test.call('GET', `/api/v1/secure/audit-logs?action=${action}&limit=200`, { token: admin.token });
  expect(trail.status).toBe(200);
  return trail.body.data as {
    user_id: string | null;
    resource_id: string | null;
    details: any;
    ip_address: string | null;
  }[];
}

export function newEmail(): string {
  return `${unique('person')}@person.example`;
}

/** No secret of a request or an answer may be in the log. */
export function expectNoSecrets(test: TestService, secrets: readonly string[]): void {
  expect(test.logLines.length).toBeGreaterThan(0);
  expect(test.logLines.filter((line) => secrets.some((secret) => line.includes(secret)))).toEqual([]);
}
