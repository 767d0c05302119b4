import { expect } from 'vitest';

import type { OutboxMail } from '#core/mail/mail.queries';
import { TooManyInvitations } from '#modules/auth/auth.errors';
import { invitationMailAttempt } from '#modules/auth/login/throttle';
import { createMember, createTenant, joinTenant, unique, type Person, type Tenant } from '#test/support/factories';
import type { Answer, Call, TestService } from '#test/support/harness';

/** A clock that tests move; until it is set back it never shows the same time twice. */
export function createClock(startsAt: Date = new Date()) {
  let offsetMs = startsAt.getTime() - Date.now();
  let last = 0;
  return {
    now: () => {
      last = Math.max(last + 1, Date.now() + offsetMs);
      return new Date(last);
    },
    advance: (ms: number) => {
      offsetMs += ms;
      last += ms;
    },
  };
}

export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

/** A call of one of the public authentication operations. */
export function post(test: TestService, operation: string, body?: unknown, call: Call = {}): Promise<Answer> {
  return test.call('POST', `/api/v1/public/auth/${operation}`, { ...call, ...(body === undefined ? {} : { body }) });
}

/** The status that the access token gets on an ordinary request. */
export async function statusOf(test: TestService, token: string): Promise<number> {
  return (await test.call('GET', '/api/v1/auth/me', { token })).status;
}

export function inParallel(times: number, call: (at: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: times }, (_, at) => call(at)));
}

/** How often each status was answered. */
export function countStatuses(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The bytes of an error body that may not tell one case from another. */
export function comparable(answer: Answer): string {
  return answer.text.replace(/"requestId":"[^"]*"/, '"requestId":""').replace(/"timestamp":"[^"]*"/, '"timestamp":""');
}

/** A person with one password who belongs to two tenants, and is logged in at neither. */
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

/** Mails to the address, newest first, past the interface: operators who log in for each would end each other's sessions. */
export async function mailsTo(test: TestService, recipient: string) {
  const { database, mail: relay } = test.service.services;
  const text = 'select * from mail_outbox where recipient = $1 order by id desc';
  const mails = await database.platform().all<OutboxMail>({ text, values: [recipient], prepare: false });
  return mails.map((mail) => ({ ...mail, text: relay.read(mail) }));
}

/** Asks for a reset mail and reads its token. */
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

/** As if the tenant had mailed so many invitations, each to somebody else. */
export async function countInvitations(test: TestService, tenantId: string, times: number): Promise<void> {
  for (let count = 0; count < times; count++) {
    const to = { email: newEmail(), tenantId };
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

/** The actions in the audit trail of the person's tenant, newest first. */
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
  return `${unique('person')}@nobody.example`;
}

/** Nothing that was typed in or handed out may stand in the log. */
export function expectNoSecrets(test: TestService, secrets: readonly string[]): void {
  expect(test.logLines.length).toBeGreaterThan(0);
  expect(test.logLines.filter((line) => secrets.some((secret) => line.includes(secret)))).toEqual([]);
}
