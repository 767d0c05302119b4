import { sha256Hex } from '#core/base/crypto/secrets';

export const taskTypes = [
  'agb',
  'profile',
  'kyc',
  'avatar',
  'phone_verification',
  'email_verification',
  'custom',
] as const;
export type TaskType = (typeof taskTypes)[number];

/** Fields that a task of the type `profile` can require. */
export const profileFields = ['displayName', 'fullName', 'locale', 'phone'] as const;
export type ProfileField = (typeof profileFields)[number];

/** Roles by which an audience selects users. */
export const roles = ['admin', 'member'] as const;
export type Role = (typeof roles)[number];

/** Bounded because each request for the open tasks reads all tasks of the tenant. */
export const maxTasks = 500;

export type Texts = { title?: string; description?: string; buttonText?: string };
export type I18n = Readonly<Record<string, Texts>>;

/** The reserved keys of a config, after validation. */
export type TaskConfig = {
  audience?: { groups?: string[]; roles?: Role[]; createdBefore?: string };
  from?: string;
  until?: string;
  repeatEveryDays?: number;
  fields?: ProfileField[];
};

export type DisplayedText = {
  language: string | null;
  title: string;
  description: string | null;
  buttonText: string | null;
};

/** Picks each text separately: from the first preferred language that has it, else from any language. A title always exists. */
export function localise({ name, i18n }: { name: string; i18n: I18n }, languages: readonly string[]): DisplayedText {
  const order = [...languages, ...Object.keys(i18n).toSorted()].filter((each) => Object.hasOwn(i18n, each));
  // An empty text counts as a text, but not as a title.
  const isText = (field: keyof Texts, text: string | undefined) =>
    field === 'title' ? (text ?? '').trim() !== '' : text !== undefined;
  const first = (field: keyof Texts) => order.find((each) => isText(field, i18n[each]![field]));
  const text = (field: keyof Texts) => i18n[first(field) ?? '']?.[field] ?? null;
  return {
    language: first('title') ?? null,
    title: text('title') ?? name,
    description: text('description'),
    buttonText: text('buttonText'),
  };
}

export function hashOf({ title, description, buttonText }: DisplayedText): string {
  return sha256Hex(JSON.stringify({ title, description, buttonText }));
}

/** The facts about a user that an audience selects by. */
export type Member = { createdAt: string; role: Role; groupIds: readonly string[] };

/** Whether the task is available to the user at this time. */
export function isFor({ audience = {}, from, until }: TaskConfig, member: Member, now: Date): boolean {
  const { groups, roles: requiredRoles, createdBefore } = audience;
  const isInGroup = groups === undefined || groups.some((id) => member.groupIds.includes(id.toLowerCase()));
  const hasRole = requiredRoles === undefined || requiredRoles.includes(member.role);
  const isOldEnough = createdBefore === undefined || Date.parse(member.createdAt) < Date.parse(createdBefore);
  const hasBegun = from === undefined || Date.parse(from) <= now.getTime();
  const isOver = until !== undefined && Date.parse(until) <= now.getTime();
  return isInGroup && hasRole && isOldEnough && hasBegun && !isOver;
}

/** Whether the task is available at any time. */
export function isEverShown({ from, until }: TaskConfig): boolean {
  return from === undefined || until === undefined || Date.parse(from) < Date.parse(until);
}

/** Lower-case identifiers without duplicates. */
export function groupsOf({ audience }: TaskConfig): string[] {
  return [...new Set(audience?.groups?.map((id) => id.toLowerCase()))];
}

const dayMs = 24 * 60 * 60_000;

/** Completions at or before this time no longer count; null if they count forever. */
export function repeatsAfter({ repeatEveryDays }: TaskConfig, now: Date): string | null {
  return repeatEveryDays === undefined ? null : new Date(now.getTime() - repeatEveryDays * dayMs).toISOString();
}

/** Whether a completion at that time still counts. */
export function counts(config: TaskConfig, completedAt: string, now: Date): boolean {
  const limit = repeatsAfter(config, now);
  return limit === null || Date.parse(completedAt) > Date.parse(limit);
}

/** The facts about a user that complete a task automatically. */
export type Facts = {
  hasAvatar: boolean;
  hasProvenEmail: boolean;
  hasProvenPhone: boolean;
  profile: Readonly<Record<ProfileField, string | null>>;
};

const defaultProfileFields: readonly ProfileField[] = ['fullName', 'locale'];

/** Whether the condition of the task is met; undefined for types that only the user can complete. */
export function isDone({ type, config }: { type: TaskType; config: TaskConfig }, facts: Facts): boolean | undefined {
  switch (type) {
    case 'avatar':
      return facts.hasAvatar;
    case 'email_verification':
      return facts.hasProvenEmail;
    case 'phone_verification':
      return facts.hasProvenPhone;
    case 'profile':
      return (config.fields ?? defaultProfileFields).every((field) => (facts.profile[field] ?? '').trim() !== '');
    case 'agb':
    case 'kyc':
    case 'custom':
      return undefined;
  }
}

/** Types whose facts belong to the account, which is outside of the tenant. */
export function isAboutAccount(type: TaskType): boolean {
  return type === 'email_verification' || type === 'phone_verification';
}

type OrderedTask = { id: string; priority: number; created_at: string };

/** The listed ids first, then the other tasks in their present order. */
export function reordered(tasks: readonly OrderedTask[], listed: readonly string[]): string[] {
  const rest = tasks.filter(({ id }) => !listed.includes(id)).toSorted(byPriority);
  return [...listed, ...rest.map(({ id }) => id)];
}

function byPriority(left: OrderedTask, right: OrderedTask): number {
  if (left.priority !== right.priority) return left.priority - right.priority;
  if (left.created_at !== right.created_at) return left.created_at < right.created_at ? -1 : 1;
  // Ids are UUIDv7, so their order is the order of creation.
  return left.id < right.id ? -1 : 1;
}
