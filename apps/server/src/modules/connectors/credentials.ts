import type { Services } from '#core/platform/services';

/** Credentials of a connector; null if it needs none. */
export type Credentials = Record<string, unknown> | null;

type Vault = Pick<Services, 'encryption'>;

export function sealCredentials({ encryption }: Vault, id: string, credentials: Credentials): string | null {
  return credentials === null ? null : encryption.encrypt(JSON.stringify(credentials), placeOf(id));
}

/** @throws Error if the stored value was modified or its key no longer exists */
export function openCredentials({ encryption }: Vault, row: { id: string; auth_config: string | null }): Credentials {
  if (row.auth_config === null) return null;
  return JSON.parse(encryption.decrypt(row.auth_config, placeOf(row.id))) as Credentials;
}

function placeOf(id: string): string {
  return `connectors.auth_config:${id}`;
}
