import { allowedProperties, flagsOf } from '#core/base/access/flags';
import type { ApiKeyPrincipal, RequestFacts } from '#core/base/access/principal';
import type { CachedPrincipal } from '#core/base/access/principal-cache';
import { keyedHash, sameSecret } from '#core/base/crypto/secrets';
import type { ErrorDefinition } from '#core/base/errors/app-error';
import { InvalidApiKey } from '#core/base/errors/common-errors';
import { createAddressMatcher } from '#core/base/net/addresses';
import { nilId } from '#core/data/db/nil-id';
import { cachedKeyName } from '#core/http/credentials';
import type { Services } from '#core/platform/services';
import { DeviceNotAllowed, IpNotAllowed } from '#modules/api-keys/api-keys.errors';
import { findKeyTenant, findUsableKey, type UsableKeyRow } from '#modules/api-keys/api-keys.queries';
import { keyHashPurpose, parseKey, type PresentedKey } from '#modules/api-keys/api-keys.rules';
import type { KeyAuthenticator } from '#modules/auth/index';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'now' | 'principals' | 'securityEvents'>;

/** Resolves an API key to its principal; synchronously if it is cached. */
export function createApiKeyAuthenticator(services: Dependencies): KeyAuthenticator {
  const { principals } = services;
  const hashKey = services.encryption.keyFor(keyHashPurpose);
  return (key, { deviceFingerprint }, request) => {
    const admit = (principal: ApiKeyPrincipal) => {
      assertAllowedHere(services, principal, { request, deviceFingerprint });
      return principal;
    };
    const credential = cachedKeyName(key);
    const known = principals.find(credential);
    if (known !== undefined) return admit(known as ApiKeyPrincipal);
    const presented = parseKey(key);
    if (presented === undefined) throw InvalidApiKey();
    const load = () => verifyKey(services, presented, keyedHash(hashKey, presented.secret));
    return principals.load(credential, load).then((principal) => {
      const admitted = admit(principal as ApiKeyPrincipal);
      recordUse(services, admitted, request);
      return admitted;
    });
  };
}

async function verifyKey(
  services: Dependencies,
  { keyUuid }: PresentedKey,
  secretHash: string,
): Promise<CachedPrincipal & { principal: ApiKeyPrincipal }> {
  const row = await findKey(services, keyUuid);
  const now = services.now().getTime();
  // Both are always compared, so that the response time does not reveal which one failed.
  const matches = storedSecrets(row, now).map(({ hash, validUntil }) => ({
    validUntil,
    isSame: sameSecret(secretHash, hash),
  }));
  const match = matches.find(({ isSame }) => isSame);
  if (row === undefined || match === undefined) throw InvalidApiKey();
  return {
    principal: toPrincipal(row),
    subjects: [`api_key:${row.id}`, `tenant:${row.tenant_id}`],
    expiresAt: Math.min(match.validUntil, row.expires_at === null ? Infinity : Date.parse(row.expires_at)),
  };
}

/** No tenant has this id. All unknown keys share it, because each tenant takes a share of the connections. */
const noTenant = nilId;

/** Two statements for known and unknown keys: an unknown one is looked up in a tenant that does not exist. */
async function findKey({ database, now }: Dependencies, keyUuid: string): Promise<UsableKeyRow | undefined> {
  const owner = await database.credential().first(findKeyTenant({ keyUuid }));
  const tenantId = owner?.tenant_id ?? noTenant;
  return database.credential(tenantId).first(findUsableKey({ tenantId, keyUuid, at: now().toISOString() }));
}

type StoredSecret = { hash: string; validUntil: number };

/** Always two: a missing secret is replaced by a value that no hash equals. */
function storedSecrets(row: UsableKeyRow | undefined, now: number): [StoredSecret, StoredSecret] {
  const none = { hash: 'no secret', validUntil: 0 };
  if (row === undefined) return [none, none];
  const current = { hash: row.secret_hash, validUntil: Infinity };
  const { previous_secret_hash: hash, previous_secret_expires_at: expiresAt } = row;
  const validUntil = expiresAt === null ? 0 : Date.parse(expiresAt);
  return [current, hash === null || validUntil <= now ? none : { hash, validUntil }];
}

function toPrincipal(row: UsableKeyRow): ApiKeyPrincipal {
  const addresses = row.ip_whitelist ?? [];
  return {
    kind: 'api_key',
    id: row.id,
    tenantId: row.tenant_id,
    homeTenantId: row.tenant_id,
    userId: null,
    name: row.name,
    isTenantAdmin: false,
    isSystemAdmin: false,
    permissions: new Set(),
    flags: flagsOf(row.permissions),
    properties: allowedProperties(row.permissions),
    mcpWriteEnabled: row.mcp_write_enabled,
    restrictions: {
      allowsAddress: addresses.length === 0 ? undefined : createAddressMatcher(addresses),
      // Header values have no surrounding spaces.
      deviceFingerprint: row.device_fingerprint?.trim(),
    },
  };
}

/** @throws IpNotAllowed, DeviceNotAllowed */
function assertAllowedHere(
  services: Dependencies,
  key: ApiKeyPrincipal,
  { request, deviceFingerprint }: { request: RequestFacts; deviceFingerprint: string | undefined },
): void {
  const { allowsAddress, deviceFingerprint: expected } = key.restrictions;
  if (allowsAddress?.(request.ip) === false) throw refusal(services, { key, request, error: IpNotAllowed });
  if (expected !== undefined && !isSameDevice(deviceFingerprint, expected))
    throw refusal(services, { key, request, error: DeviceNotAllowed });
}

function isSameDevice(header: string | undefined, expected: string): boolean {
  // Node decodes headers as Latin-1, but clients send characters beyond ASCII as UTF-8.
  const given = Buffer.from(header ?? '', 'latin1').toString('utf8');
  return sameSecret(given, expected) && header !== undefined;
}

/** Recorded whenever the key is verified without the cache: about once a minute and process, not on each request. */
function recordUse({ securityEvents }: Dependencies, { id, tenantId }: ApiKeyPrincipal, request: RequestFacts): void {
  const details = { actor: { type: 'api_key', id }, ip: request.ip, requestId: request.id };
  securityEvents.record({ type: 'api_key_used', tenantId, userId: null, details });
}

function refusal(
  { securityEvents }: Dependencies,
  { key, request, error }: { key: ApiKeyPrincipal; request: RequestFacts; error: ErrorDefinition },
): Error {
  const { id, tenantId } = key;
  const details = { reason: error.reason, actor: { type: 'api_key', id }, ip: request.ip, requestId: request.id };
  securityEvents.record({ type: 'permission_denied', tenantId, userId: null, details });
  return error();
}
