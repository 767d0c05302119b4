import { systemTenantId } from '#core/base/access/principal';
import type { Services } from '#core/platform/services';
import { missingIn } from '#modules/connectors/adapters';
import type { OperationKey } from '#modules/connectors/calls/operations';
import { inOrder } from '#modules/connectors/calls/routing.rules';
import { listEnabledConnectors, type ConnectorRow } from '#modules/connectors/connectors.queries';
import { openCredentials, type Credentials } from '#modules/connectors/credentials';
import { isIncomplete } from '#modules/connectors/health/health.rules';
import {
  mayBeSent,
  openCustomerCredentials,
  type CustomerCredentials,
} from '#modules/connectors/overrides/customer-credentials';
import { findOverride, type OverrideRow } from '#modules/connectors/overrides/overrides.queries';
import { termsOf, type Terms } from '#modules/connectors/overrides/overrides.rules';

type Vault = Pick<Services, 'encryption'>;

export type Wanted = {
  tenantId: string;
  operation: OperationKey;
  serves(connector: ConnectorRow): boolean;
  /** Only connectors of the installation with its credentials, so that no tenant can read the content. */
  onlyInstallation?: boolean;
};

/** The connectors for an operation of a tenant in failover order, with the terms of its override. */
export type Route = Terms & {
  candidates: readonly Candidate[];
  /** Connectors that cannot be called because required settings are missing. */
  incomplete: readonly Candidate[];
};

export type Candidate = {
  row: ConnectorRow;
  /** Whether the tenant's own credentials replace those of the connector. */
  isOwnCredentials: boolean;
  /** Whether the tenant of the call configured the connector or its credentials, and so may read the content. */
  isOfTenant: boolean;
  /** @throws Error if they cannot be decrypted, or belong to another address */
  credentials(): Credentials;
};

/** Two concurrent round trips: each reads the override and the connectors of one side. */
export async function findRoute(
  services: Pick<Services, 'database' | 'encryption'>,
  { tenantId, operation, serves, onlyInstallation = false }: Wanted,
): Promise<Route> {
  const [own, system] = await Promise.all([
    tenantId === systemTenantId ? nothing : read(services.database.tenant(tenantId), tenantId, operation),
    read(services.database.platform(), systemTenantId, operation),
  ]);
  const terms = termsOf(own.override, system.override);
  const connectors = onlyInstallation ? system.connectors : [...own.connectors, ...system.connectors];
  const candidates = inOrder(connectors.filter(serves), terms.order);
  const override = tenantId === systemTenantId ? system.override : onlyInstallation ? undefined : own.override;
  const all = candidates.map((row) => {
    const candidate = toCandidate(services, row, override);
    const isOfTenant = row.tenant_id !== systemTenantId || candidate.isOwnCredentials;
    return { ...candidate, isOfTenant: isOfTenant && tenantId !== systemTenantId };
  });
  const { complete = [], incomplete = [] } = Object.groupBy(all, (candidate) =>
    lacksSettings(candidate) ? 'incomplete' : 'complete',
  );
  return { ...terms, candidates: complete, incomplete };
}

/** The tenant's own credentials can complete a connector. */
function lacksSettings({ row, isOwnCredentials, credentials }: Candidate): boolean {
  const { api_key: key, api_base_url: baseUrl, category, config } = row;
  if (!isIncomplete(row)) return false;
  if (!isOwnCredentials) return true;
  try {
    return missingIn({ key, baseUrl, category, config, credentials: credentials() }).length > 0;
  } catch {
    return false;
  }
}

type Read = { override: OverrideRow | undefined; connectors: ConnectorRow[] };

const nothing: Read = { override: undefined, connectors: [] };

async function read(
  db: ReturnType<Services['database']['tenant']> | ReturnType<Services['database']['platform']>,
  tenantId: string,
  operation: OperationKey,
): Promise<Read> {
  const [[override], connectors] = await db.batch([
    findOverride({ tenantId, operation }),
    listEnabledConnectors({ tenantId }),
  ]);
  return { override, connectors };
}

function toCandidate(
  vault: Vault,
  row: ConnectorRow,
  override: OverrideRow | undefined,
): Omit<Candidate, 'isOfTenant'> {
  const shared = { row, isOwnCredentials: false, credentials: () => openCredentials(vault, row) };
  if (override === undefined || override.customer_credentials === null) return shared;
  const given = opened(vault, override);
  // If they cannot be decrypted, the tenant's calls fail instead of using credentials that others pay for.
  if (given instanceof Error) return { row, isOwnCredentials: true, credentials: () => raise(given) };
  const own = Object.hasOwn(given, row.api_key) ? given[row.api_key]! : undefined;
  if (own === undefined) return shared;
  const isFor = mayBeSent(own, row.api_base_url);
  const elsewhere = new Error('the connector leads elsewhere than when these credentials were given');
  return { row, isOwnCredentials: true, credentials: () => (isFor ? { ...own.credentials } : raise(elsewhere)) };
}

function opened(vault: Vault, override: OverrideRow): CustomerCredentials | Error {
  try {
    return openCustomerCredentials(vault, override);
  } catch (error) {
    return error as Error;
  }
}

function raise(error: Error): never {
  throw error;
}
