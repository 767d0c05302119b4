import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable, pageOf, paging, sortable } from '#core/base/schemas';

const day = 86_400;
const number = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description });
const flag = (description: string) => Type.Boolean({ description });

const configFields = {
  dos_enabled: flag('Whether the rate limit per client address is on.'),
  dos_max_requests_per_ip: number(
    100,
    100_000,
    'Maximum number of requests per window from one IPv4 address or IPv6 /64 network.',
  ),
  dos_time_window_seconds: number(
    60,
    3600,
    'Length of the rate-limit window in seconds; it starts with the first request.',
  ),
  dos_block_duration_seconds: number(60, day, 'Block duration after the rate limit is exceeded, in seconds.'),
  queue_enabled: flag('Whether requests over the concurrency limit wait in a queue.'),
  queue_max_size: number(100, 50_000, 'Maximum number of waiting requests.'),
  queue_timeout_ms: number(1000, 120_000, 'Maximum waiting time of a request in milliseconds.'),
  ip_blacklist_enabled: flag('Whether blocked addresses are refused.'),
  ip_blacklist_auto_block: flag('Whether addresses that exceed the rate limit repeatedly are blocked automatically.'),
  ip_blacklist_auto_block_threshold: number(
    3,
    1000,
    'Number of times that an address exceeds the rate limit within a day before it is blocked.',
  ),
  ip_blacklist_auto_block_duration_seconds: number(60, 7 * day, 'Duration of an automatic block in seconds.'),
  circuit_breaker_enabled: flag('Whether requests are refused while the process is overloaded (load shedding).'),
  circuit_breaker_cpu_threshold: number(
    50,
    100,
    'CPU usage that counts as overload, in percent of the available cores.',
  ),
  circuit_breaker_duration_seconds: number(5, 3600, 'Duration of load shedding after the latest overload, in seconds.'),
  circuit_breaker_check_interval_seconds: number(1, 300, 'Interval between measurements of the CPU usage in seconds.'),
  cache_enabled: flag('Whether the principals behind credentials are cached.'),
  cache_max_entries: number(100, 1_000_000, 'Maximum number of cached principals.'),
  cache_default_ttl_seconds: number(
    1,
    day,
    'Lifetime of a cached principal in seconds; revocation removes it at once.',
  ),
};

const optionalFields = Object.fromEntries(
  Object.entries(configFields).map(([name, schema]) => [name, Type.Optional(schema)]),
) as { [Name in keyof typeof configFields]: ReturnType<typeof Type.Optional<(typeof configFields)[Name]>> };

export const UpdateSecurityConfigBody = closed(optionalFields, { minProperties: 1 });
export type UpdateSecurityConfigBody = Static<typeof UpdateSecurityConfigBody>;

export const SecurityConfigAnswer = dataOf(
  closed(
    {
      id: Uuid,
      ...configFields,
      created_at: Timestamp,
      updated_at: Timestamp,
      updated_by: nullable(Uuid),
    },
    { title: 'GlobalSecurityConfiguration' },
  ),
);

export const ForceQuery = Type.Object({
  force: Type.Optional(
    Type.Boolean({ description: 'Whether to apply the change even if it blocks your address, now or later.' }),
  ),
});

const Action = Type.Enum(['allow', 'block'], { description: 'Effect of the rule; `allow` wins over `block`.' });
const Source = Type.Enum(['manual', 'automatic'], {
  description: 'Origin of the rule: an administrator, or the rate limit.',
});
const Range = Type.String({
  format: 'ip-range',
  maxLength: 50,
  description: 'Address, or range in CIDR notation without host bits.',
});
const Reason = Type.With(nullable(Type.String({ maxLength: 500 })), {
  description: 'Reason for the rule; null for none.',
});

export const CreateIpRuleBody = closed({
  range: Range,
  action: Action,
  reason: Type.Optional(Reason),
  expires_at: Type.Optional(nullable(Timestamp)),
});
export type CreateIpRuleBody = Static<typeof CreateIpRuleBody>;

export const UpdateIpRuleBody = closed(
  {
    action: Type.Optional(Action),
    reason: Type.Optional(Reason),
    expires_at: Type.Optional(nullable(Timestamp)),
  },
  { minProperties: 1 },
);
export type UpdateIpRuleBody = Static<typeof UpdateIpRuleBody>;

const IpRule = closed(
  {
    id: Uuid,
    range: Type.String({ description: 'Address, or range in CIDR notation.' }),
    action: Action,
    source: Source,
    reason: Type.With(nullable(Type.String()), { description: 'Reason for the rule; null for none.' }),
    expires_at: nullable(Timestamp),
    created_by: nullable(Uuid),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'IpRule' },
);

export const IpRuleAnswer = dataOf(IpRule);
export const IpRulePage = pageOf(IpRule);

export const ListIpRulesQuery = Type.Object({
  ...paging,
  sort: sortable(['created_at', 'range']),
  action: Type.Optional(Action),
  source: Type.Optional(Source),
  active: Type.Optional(
    Type.Boolean({ description: '`true` lists the rules that are in force, `false` the expired ones.' }),
  ),
  address: Type.Optional(
    Type.String({
      format: 'ip-range',
      maxLength: 50,
      description: 'Address or range; lists only rules that cover it.',
    }),
  ),
});
export type ListIpRulesQuery = Static<typeof ListIpRulesQuery>;
