export const channels = ['in_app', 'push', 'email', 'sms', 'chatapp', 'webhook'] as const;

/** How a notification reaches a person. */
export type Channel = (typeof channels)[number];

/** Over which channels people are told where neither they nor their tenant have said anything: those that cost nothing. */
export const builtInChannels: ReadonlySet<Channel> = new Set<Channel>(['in_app', 'push', 'email']);

export const layers = ['locked', 'user_override', 'tenant_default', 'built_in'] as const;

/** Which layer of preferences decides: a default that its tenant has locked, what the person said, what the tenant said, none. */
export type Layer = (typeof layers)[number];

export const noticeStatuses = ['queued', 'done', 'cancelled', 'failed'] as const;

export type NoticeStatus = (typeof noticeStatuses)[number];

export const deliveryStatuses = ['queued', 'sending', 'sent', 'failed', 'suppressed'] as const;

export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Why a delivery is what it is; `docs/guides/notifications.md` explains each. */
export const deliveryReasons = {
  /** queued, sending */
  due: 'It is on its way.',
  quiet_hours: 'It waits until the quiet hours of the person are over, or was dropped because they want that.',
  retry: 'The channel failed; it is tried again.',
  /** sent */
  delivered: 'The channel has taken it.',
  /** suppressed */
  turned_off: 'The preference that decides says no.',
  not_active: 'The person is no active user of the tenant any more.',
  no_address: 'The person has no address on this channel, or has not proven it.',
  no_provider: 'Nobody delivers on this channel: there is no connector for it, or no mail server.',
  switched_off: 'The operation that carries this channel is switched off for the tenant.',
  cancelled: 'Whoever sent it has taken it back.',
  /** failed */
  refused: 'The channel does not take it: the address or the text is wrong.',
  attempts_used_up: 'The channel failed each time.',
} as const;

export type DeliveryReason = keyof typeof deliveryReasons;

export type Texts = { title: string; body: string };

/** Everybody who is an active user, some of them, or the members of some groups. */
export type Audience = { everyone: true } | { userIds?: string[]; groupIds?: string[] };

/** Free, but for these keys, which were checked. */
export type QuietHours = Record<string, unknown> & {
  timezone?: string;
  start?: string;
  end?: string;
  days?: string[];
  mode?: 'delay' | 'drop';
  exceptCritical?: boolean;
};
