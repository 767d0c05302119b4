/** Who calls, as the database says at this moment; rights never come from token claims. */
export type Principal = {
  readonly kind: 'user';
  /** The tenant whose data the call touches. */
  readonly tenantId: string;
  /** The tenant that the session belongs to; another one only for a system administrator who named it. */
  readonly homeTenantId: string;
  readonly userId: string;
  readonly accountId: string;
  readonly sessionId: string;
  readonly email: string;
  readonly isTenantAdmin: boolean;
  readonly isSystemAdmin: boolean;
  readonly permissions: ReadonlySet<string>;
};

/** Facts about the request that audit rows and throttles need. */
export type RequestFacts = {
  readonly id: string;
  /** Canonical client address; forwarded headers count only from trusted proxies. */
  readonly ip: string;
  readonly userAgent: string | null;
  /** When the request line arrived, in Unix milliseconds. */
  readonly receivedAt: number;
};

/** A principal together with the request it makes. */
export type Actor = Principal & { readonly request: RequestFacts };

/** Holds the system administrators; its administrators are the installation's. */
export const systemTenantId = '00000000-0000-7000-8000-000000000001';
