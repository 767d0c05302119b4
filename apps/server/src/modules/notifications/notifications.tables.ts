import type {
  Audience,
  Channel,
  DeliveryReason,
  DeliveryStatus,
  Layer,
  NoticeStatus,
  Texts,
} from '#modules/notifications/notifications.types';

export type NoticeRow = {
  tenant_id: string;
  id: string;
  client_key: string | null;
  category: string;
  title: string;
  body: string;
  i18n: Record<string, Partial<Texts>>;
  link: string | null;
  data: Record<string, unknown>;
  is_critical: boolean;
  channels: Channel[] | null;
  audience: Audience;
  status: NoticeStatus;
  created_by: string | null;
  last_user_id: string | null;
  recipients: number;
  created_at: string;
  completed_at: string | null;
};

export type NotificationRow = {
  tenant_id: string;
  id: string;
  notice_id: string;
  user_id: string;
  category: string;
  language: string | null;
  created_at: string;
  inbox_at: string | null;
  read_at: string | null;
  dismissed_at: string | null;
};

export type DeliveryRow = {
  tenant_id: string;
  id: string;
  notification_id: string;
  notice_id: string;
  user_id: string;
  category: string;
  is_critical: boolean;
  channel: Channel;
  status: DeliveryStatus;
  reason: DeliveryReason;
  layer: Layer;
  preference_id: string | null;
  due_at: string;
  attempts: number;
  interruptions: number;
  claim: string | null;
  lease_until: string | null;
  created_at: string;
  updated_at: string;
  sent_at: string | null;
};

export type PushSubscriptionRow = {
  tenant_id: string;
  id: string;
  user_id: string;
  endpoint_hash: Buffer;
  origin: string;
  sealed: string;
  user_agent: string | null;
  created_at: string;
  renewed_at: string;
  expires_at: string | null;
};

/** The properties of a user that notifications need. */
export type PersonRow = {
  tenant_id: string;
  id: string;
  email: string;
  display_name: string;
  locale: string;
  phone: string | null;
  timezone: string | null;
  status: string;
};

/** Columns with a default of the database. */
type Generated = { attempts?: number; due_at?: string };

export type NotificationTables = {
  notices: NoticeRow & Generated;
  notifications: NotificationRow;
  notification_deliveries: DeliveryRow;
  push_subscriptions: PushSubscriptionRow;
  push_keys: { name: string; public_key: string; sealed_private_key: string; created_at: string };
  users: PersonRow;
  group_members: { tenant_id: string; group_id: string; user_id: string };
  groups: { tenant_id: string; id: string };
  tenants: { id: string; status: string };
};
