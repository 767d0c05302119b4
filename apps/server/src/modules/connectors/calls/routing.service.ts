import { systemTenantId } from '#core/access/principal';
import type { Services } from '#core/services';
import type { OperationKey } from '#modules/connectors/calls/operations';
import { inOrder } from '#modules/connectors/calls/routing.rules';
import { listEnabledConnectors, type ConnectorRow } from '#modules/connectors/connectors.queries';
import { openCredentials, type Credentials } from '#modules/connectors/credentials';
import {
  mayBeSent,
  openCustomerCredentials,
  type CustomerCredentials,
} from '#modules/connectors/overrides/customer-credentials';
import { findOverride, type OverrideRow } from '#modules/connectors/overrides/overrides.queries';
import { termsOf, type Terms } from '#modules/connectors/overrides/overrides.rules';

type Vault = Pick<Services, 'encryption'>;

export type Wanted = { tenantId: string; operation: OperationKey; serves(connector: ConnectorRow): boolean };

/** Who may serve an operation for a tenant, in the order in which they are tried, and on which terms. */
export type Route = Terms & { candidates: readonly Candidate[] };

export type Candidate = {
  row: ConnectorRow;
  /** The tenant's own credentials are used in place of the connector's. */
  isOwnCredentials: boolean;
  /** @throws Error when they cannot be opened, or were given for another address */
  credentials(): Credentials;
};

/** Two round trips at once: each brings the override and the connectors of one side. */
export async function findRoute(
  services: Pick<Services, 'database' | 'encryption'>,
  { tenantId, operation, serves }: Wanted,
): Promise<Route> {
  const [own, system] = await Promise.all([
    tenantId === systemTenantId ? nothing : read(services.database.tenant(tenantId), tenantId, operation),
    read(services.database.platform(), systemTenantId, operation),
  ]);
  const override = tenantId === systemTenantId ? system.override : own.override;
  const terms = termsOf(own.override, system.override);
  const connectors = [...own.connectors, ...system.connectors];
  const candidates = inOrder(connectors.filter(serves), terms.order);
  return { ...terms, candidates: candidates.map((row) => toCandidate(services, row, override)) };
}

type Read = { override: OverrideRow | undefined; connectors: ConnectorRow[] };

const nothing: Read = { override: undefined, connectors: [] };

async function read(
  db: ReturnType<Services['database']['tenant']> | ReturnType<Services['database']['platform']>,
  tenantId: string,
  operation: OperationKey,
): Promise<Read> {
  const [[override], connectors] = await db.flight([
    findOverride({ tenantId, operation }),
    listEnabledConnectors({ tenantId }),
  ]);
  return { override, connectors };
}

function toCandidate(vault: Vault, row: ConnectorRow, override: OverrideRow | undefined): Candidate {
  const shared: Candidate = { row, isOwnCredentials: false, credentials: () => openCredentials(vault, row) };
  if (override === undefined || override.customer_credentials === null) return shared;
  const given = opened(vault, override);
  // Where they cannot be read nobody knows for whom they are: the tenant's calls stop rather than use what others pay for.
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
