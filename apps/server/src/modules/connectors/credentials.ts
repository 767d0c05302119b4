import type { Services } from '#core/services';

/** What a connector logs in with; null for one that needs nothing. */
export type Credentials = Record<string, unknown> | null;

type Vault = Pick<Services, 'encryption'>;

export function sealCredentials({ encryption }: Vault, id: string, credentials: Credentials): string | null {
  return credentials === null ? null : encryption.encrypt(JSON.stringify(credentials), placeOf(id));
}

/** @throws Error when the stored value was tampered with or its key is gone */
export function openCredentials({ encryption }: Vault, row: { id: string; auth_config: string | null }): Credentials {
  if (row.auth_config === null) return null;
  return JSON.parse(encryption.decrypt(row.auth_config, placeOf(row.id))) as Credentials;
}

function placeOf(id: string): string {
  return `connectors.auth_config:${id}`;
}
