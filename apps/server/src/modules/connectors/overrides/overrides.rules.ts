type Fields = Readonly<Record<string, unknown>>;

/** What a tenant does differently for an operation. */
export type Override = {
  enabled: boolean;
  preferred_provider_order: readonly string[];
  quota_ceiling: Fields;
};

export type Ceiling = {
  unit: 'requests' | 'characters' | 'tokens';
  period: 'minute' | 'day' | 'month';
  ceiling: number;
};

export type Terms = { isEnabled: boolean; order: readonly string[]; ceilings: readonly Ceiling[] };

/** The keys of `quota_ceiling` that have an effect; periods are those of UTC. */
const ceilingKeys = {
  requests_per_minute: { unit: 'requests', period: 'minute' },
  requests_per_day: { unit: 'requests', period: 'day' },
  requests_per_month: { unit: 'requests', period: 'month' },
  characters_per_day: { unit: 'characters', period: 'day' },
  characters_per_month: { unit: 'characters', period: 'month' },
  tokens_per_month: { unit: 'tokens', period: 'month' },
} as const satisfies Record<string, Omit<Ceiling, 'ceiling'>>;

/** What is wrong with a `quota_ceiling`, as a sentence; undefined where nothing is. */
export function ceilingProblem(ceilings: Fields): string | undefined {
  const wrong = Object.keys(ceilingKeys).find((key) => Object.hasOwn(ceilings, key) && !isCeiling(ceilings[key]));
  return wrong === undefined ? undefined : `quota_ceiling.${wrong} has to be a positive integer.`;
}

/** What holds for a tenant: its own wishes, within the rule for all, which it can only tighten. */
export function termsOf(own: Override | undefined, rule: Override | undefined): Terms {
  const given = [own, rule].filter((override) => override !== undefined);
  return {
    isEnabled: given.every(({ enabled }) => enabled),
    order: given.find(({ preferred_provider_order: order }) => order.length > 0)?.preferred_provider_order ?? [],
    ceilings: Object.entries(ceilingKeys).flatMap(([key, window]) => {
      const ceilings = given.map(({ quota_ceiling: of }) => of[key]).filter(isCeiling);
      return ceilings.length === 0 ? [] : [{ ...window, ceiling: Math.min(...ceilings) }];
    }),
  };
}

/** By the `api_key` of a connector; a flat object is for the first one in the order, and for none (`''`) where there is no order. */
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

function isCeiling(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
