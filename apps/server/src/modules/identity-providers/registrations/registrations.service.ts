import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import {
  IssuerNotAllowed,
  ProviderNotConfigured,
  SecretMissing,
  SettingsRefused,
  SigningKeyRefused,
} from '#modules/identity-providers/identity-providers.errors';
import type { SaveRegistrationBody } from '#modules/identity-providers/identity-providers.schemas';
import { isSigningKey } from '#modules/identity-providers/providers/apple';
import { descriptions } from '#modules/identity-providers/providers/catalog';
import { providerIds, type ProviderId } from '#modules/identity-providers/providers/provider';
import {
  deleteRegistration as deleteRegistrationRow,
  findRegistration,
  listRegistrations as listRegistrationRows,
  lockRegistration,
  saveRegistration as saveRegistrationRow,
  type RegistrationRow,
} from '#modules/identity-providers/registrations/registrations.queries';
import { isSameAddressee, settingsProblems } from '#modules/identity-providers/registrations/registrations.rules';
import { callbackUrl, secretPlace } from '#modules/identity-providers/registrations/usable';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'now' | 'outbound' | 'settings'>;

type Scope = { db: TenantDb; actor: Actor; services: Dependencies };
type Reader = Omit<Scope, 'actor'>;

/** Lists all five, configured or not: the callback address must be known before a client exists. */
export async function listRegistrations({ db, services }: Reader) {
  const rows = await db.all(listRegistrationRows({ tenantId: db.tenantId }));
  const present = presenter(services, db.tenantId);
  return {
    data: providerIds.map((id) =>
      present(
        id,
        rows.find(({ provider }) => provider === id),
      ),
    ),
  };
}

/** @throws ProviderNotConfigured */
export async function getRegistration({ db, services }: Reader, provider: ProviderId) {
  const row = await db.first(findRegistration({ tenantId: db.tenantId, provider }));
  if (row === undefined) throw ProviderNotConfigured();
  return { data: presenter(services, db.tenantId)(provider, row) };
}

/**
 * Creates or replaces the configuration; without a secret, the stored one remains.
 * @throws SecretMissing, IssuerNotAllowed, SettingsRefused, SigningKeyRefused
 */
export async function saveRegistration(
  { db, actor, services }: Scope,
  provider: ProviderId,
  body: SaveRegistrationBody,
) {
  const { tenantId } = db;
  const { client_secret: secret } = body;
  const target = { issuer: body.issuer ?? null, settings: body.settings ?? {} };
  if (target.issuer !== null && !services.outbound.canTarget(target.issuer)) throw IssuerNotAllowed();
  const problems = settingsProblems(provider, target);
  if (problems !== undefined) throw SettingsRefused({ details: problems });
  if (provider === 'apple' && secret !== undefined && !(await isSigningKey(secret))) throw SigningKeyRefused();
  const at = services.now().toISOString();
  const sealed =
    secret === undefined ? undefined : services.encryption.encrypt(secret, secretPlace({ tenantId, provider }));
  const row = await db.transaction(async (tx) => {
    const before = await tx.first(lockRegistration({ tenantId, provider }));
    const kept = before !== undefined && isSameAddressee(before, target) ? before.client_secret : undefined;
    const clientSecret = sealed ?? kept;
    if (clientSecret === undefined) throw SecretMissing();
    const values = {
      provider,
      id: before?.id ?? newId(),
      enabled: body.enabled,
      client_id: body.client_id,
      client_secret: clientSecret,
      ...target,
      redirect_uris: body.redirect_uris,
      created_at: at,
      updated_at: at,
    };
    return tx.first(
      saveRegistrationRow({ ...values, ...auditParams(actor, at, { provider, fields: Object.keys(body) }) }),
    );
  });
  return { data: presenter(services, tenantId)(provider, row) };
}

/**
 * Ends logins through the provider; linked identities work again if the configuration returns.
 * @throws ProviderNotConfigured
 */
export async function deleteRegistration({ db, actor, services }: Scope, provider: ProviderId): Promise<void> {
  const audit = auditParams(actor, services.now().toISOString(), { provider });
  const row = await db.interactive.first(deleteRegistrationRow({ provider, ...audit }));
  if (row === undefined) throw ProviderNotConfigured();
}

const unconfigured = {
  id: null,
  enabled: false,
  client_id: null,
  issuer: null,
  redirect_uris: [],
  settings: {},
  created_at: null,
  updated_at: null,
};

function presenter(services: Dependencies, tenantId: string) {
  return (provider: ProviderId, row: RegistrationRow | undefined) => {
    const { id, enabled, client_id, issuer, redirect_uris, settings, created_at, updated_at } = row ?? unconfigured;
    return {
      id,
      provider,
      name: descriptions[provider].name,
      configured: row !== undefined,
      enabled,
      client_id,
      issuer,
      redirect_uris,
      settings,
      callback_url: callbackUrl(services, provider, tenantId),
      created_at,
      updated_at,
    };
  };
}
