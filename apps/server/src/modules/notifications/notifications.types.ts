export const channels = ['in_app', 'push', 'email', 'sms', 'chatapp', 'webhook'] as const;

/** How a notification reaches its recipient. */
export type Channel = (typeof channels)[number];

/** Channels are independent: a mail server that hangs does not delay the inbox. */
export type OfChannel = { tenantId: string; channel: Channel };

/** Channels that are on without a preference of the user or the tenant: those that cost nothing. */
export const builtInChannels: ReadonlySet<Channel> = new Set<Channel>(['in_app', 'push', 'email']);

export const layers = ['locked', 'user_override', 'tenant_default', 'built_in'] as const;

/** Layer of preferences that decides: a locked default, an override of the user, a default of the tenant, the built-in default. */
export type Layer = (typeof layers)[number];

export const noticeStatuses = ['queued', 'done', 'cancelled', 'failed'] as const;

export type NoticeStatus = (typeof noticeStatuses)[number];

export const deliveryStatuses = ['queued', 'sending', 'sent', 'failed', 'suppressed'] as const;

export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Why a delivery is what it is; `docs/guides/notifications.md` explains each. */
export const deliveryReasons = {
  /** queued, sending */
  due: 'It will be sent at once, or an attempt is under way.',
  quiet_hours: 'Quiet hours of the user delay it, or dropped it because their mode is drop.',
  retry: 'The channel failed; another attempt follows.',
  /** sent */
  delivered: 'The channel has accepted it.',
  /** suppressed */
  turned_off: 'A preference disables the channel.',
  not_active: 'The recipient is no longer an active user of the tenant.',
  no_address: 'The recipient has no address for this channel, or has not verified it.',
  no_provider: 'The channel has no connector and no mail server.',
  switched_off: 'The operation of this channel is disabled for the tenant.',
  cancelled: 'The sender has cancelled it.',
  /** failed */
  refused: 'The channel refuses it: the address or the text is invalid.',
  attempts_used_up: 'All attempts failed.',
} as const;

export type DeliveryReason = keyof typeof deliveryReasons;

export type Texts = { title: string; body: string };

/** All active users, or selected users and the members of selected groups. */
export type Audience = { everyone: true } | { userIds?: string[]; groupIds?: string[] };

/** A free object; only these keys are validated. */
export type QuietHours = Record<string, unknown> & {
  timezone?: string;
  start?: string;
  end?: string;
  days?: string[];
  mode?: 'delay' | 'drop';
  exceptCritical?: boolean;
};
