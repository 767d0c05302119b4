import { subjectKinds, type Subject } from '#core/base/access/principal-cache';
import type { WriteStatement } from '#core/data/db/query';

/** Every process listens here and forgets the principals that a message names. */
export const revocationChannel = 'atrium_principals';

/** Tells the other processes, when and only when the transaction commits. */
export function announceRevocation(subject: Subject): WriteStatement<never> {
  return { kind: 'write', text: 'select pg_notify($1, $2)', values: [revocationChannel, subject], prepare: true };
}

export function isSubject(text: string): text is Subject {
  return subjectForm.test(text);
}

const subjectForm = new RegExp(`^(${subjectKinds.join('|')}):[0-9a-f-]{36}$`);
