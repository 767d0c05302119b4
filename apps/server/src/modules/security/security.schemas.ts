import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable, pageOf, paging, sortable } from '#core/http/schemas';

const day = 86_400;
const number = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description });
const flag = (description: string) => Type.Boolean({ description });

const configFields = {
  dos_enabled: flag('Limit the requests of each address.'),
  dos_max_requests_per_ip: number(100, 100_000, 'Requests of an IPv4 address or an IPv6 /64 within the window.'),
  dos_time_window_seconds: number(60, 3600, 'Begins with the first of them.'),
  dos_block_duration_seconds: number(60, day, 'How long whoever exceeds it is refused.'),
  queue_enabled: flag('Let requests wait that are too many at once.'),
  queue_max_size: number(100, 50_000, 'How many may wait.'),
  queue_timeout_ms: number(1000, 120_000, 'How long each.'),
  ip_blacklist_enabled: flag('Refuse blocked addresses.'),
  ip_blacklist_auto_block: flag('Block addresses that exceed the limit again and again.'),
  ip_blacklist_auto_block_threshold: number(3, 1000, 'How often within a day.'),
  ip_blacklist_auto_block_duration_seconds: number(60, 7 * day, 'For how long.'),
  circuit_breaker_enabled: flag('Shed load while the process has too much of it.'),
  circuit_breaker_cpu_threshold: number(50, 100, 'Percent of the cores that the process may use.'),
  circuit_breaker_duration_seconds: number(5, 3600, 'How long after the last time it was too much.'),
  circuit_breaker_check_interval_seconds: number(1, 300, 'How often that is looked at.'),
  cache_enabled: flag('Keep in mind who is behind a credential.'),
  cache_max_entries: number(100, 1_000_000, 'How many credentials.'),
  cache_default_ttl_seconds: number(1, day, 'How long each; what is revoked is forgotten at once.'),
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
  force: Type.Optional(Type.Boolean({ description: 'Even when it refuses the own address, now or later.' })),
});

const Action = Type.Enum(['allow', 'block']);
const Source = Type.Enum(['manual', 'automatic']);
const Range = Type.String({ format: 'ip-range', maxLength: 50, description: 'An address, or a range as CIDR.' });
const Reason = nullable(Type.String({ maxLength: 500 }));

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
    range: Type.String(),
    action: Action,
    source: Source,
    reason: nullable(Type.String()),
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
  active: Type.Optional(Type.Boolean({ description: 'Whether their time is still to come to its end.' })),
  address: Type.Optional(
    Type.String({ format: 'ip-range', maxLength: 50, description: 'Those that cover this address or range.' }),
  ),
});
export type ListIpRulesQuery = Static<typeof ListIpRulesQuery>;
