import { expect } from 'vitest';

import { unique } from '#test/support/factories';
import type { TestService } from '#test/support/harness';

/** Kinds of records that contacts are linked to. */
export const linkableKinds = ['space', 'resource', 'user'] as const;

export type LinkableKind = (typeof linkableKinds)[number];

/** Creates a record of the kind; a user is an invited user. */
export async function newLinkable(test: TestService, kind: LinkableKind, token: string): Promise<string> {
  const body = kind === 'user' ? { email: `${unique('user')}@example.com` } : { name: 'Hall' };
  const answer = await test.call('POST', `/api/v1/secure/${kind}s`, { token, body });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.data.id;
}
