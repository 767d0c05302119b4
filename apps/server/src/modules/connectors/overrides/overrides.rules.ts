type Fields = Readonly<Record<string, unknown>>;

/** Override of a tenant for an operation. */
export type Override = {
  enabled: boolean;
  preferred_provider_order: readonly string[];
  quota_limits: Fields;
};

export type QuotaLimit = {
  unit: 'requests' | 'characters' | 'tokens';
  period: 'minute' | 'day' | 'month';
  limit: number;
};

export type Terms = { isEnabled: boolean; order: readonly string[]; quotaLimits: readonly QuotaLimit[] };

/** The keys of `quota_limits` that have an effect; periods are in UTC. */
const quotaKeys = {
  requests_per_minute: { unit: 'requests', period: 'minute' },
  requests_per_day: { unit: 'requests', period: 'day' },
  requests_per_month: { unit: 'requests', period: 'month' },
  characters_per_day: { unit: 'characters', period: 'day' },
  characters_per_month: { unit: 'characters', period: 'month' },
  tokens_per_month: { unit: 'tokens', period: 'month' },
} as const satisfies Record<string, Omit<QuotaLimit, 'limit'>>;

/** The problem of a `quota_ceiling` as a sentence; undefined if it is valid. */
export function quotaLimitProblem(quotaLimits: Fields): string | undefined {
  const wrong = Object.keys(quotaKeys).find(
    (key) => Object.hasOwn(quotaLimits, key) && !isQuotaLimit(quotaLimits[key]),
  );
  return wrong === undefined ? undefined : `quota_ceiling.${wrong} must be a positive integer.`;
}

/** Effective terms: the override of the tenant, which can only tighten that of the installation. */
export function termsOf(own: Override | undefined, rule: Override | undefined): Terms {
  const given = [own, rule].filter((override) => override !== undefined);
  return {
    isEnabled: given.every(({ enabled }) => enabled),
    order: given.find(({ preferred_provider_order: order }) => order.length > 0)?.preferred_provider_order ?? [],
    quotaLimits: Object.entries(quotaKeys).flatMap(([key, window]) => {
      const quotaLimits = given.map(({ quota_limits: of }) => of[key]).filter(isQuotaLimit);
      return quotaLimits.length === 0 ? [] : [{ ...window, limit: Math.min(...quotaLimits) }];
    }),
  };
}

/** Credentials by api_key; a flat object is for the first connector in the order (`''` without an order). */
export function credentialsByKey(
  given: Fields,
  order: readonly string[],
): { isFlat: boolean; byKey: Readonly<Record<string, Fields>> } {
  const isKeyed = Object.values(given).every(isFields);
  return isKeyed
    ? { isFlat: false, byKey: given as Record<string, Fields> }
    : { isFlat: true, byKey: { [order[0] ?? '']: given } };
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isQuotaLimit(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
