import { sha256Hex } from '#core/crypto/secrets';

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

/** What a task of the type profile may ask for. */
export const profileFields = ['displayName', 'fullName', 'locale', 'phone'] as const;
export type ProfileField = (typeof profileFields)[number];

/** What somebody may be in a tenant, as far as an audience goes. */
export const roles = ['admin', 'member'] as const;
export type Role = (typeof roles)[number];

/** All of a tenant's are looked at whenever somebody asks what there is to do. */
export const mostTasks = 500;

export type Texts = { title?: string; description?: string; buttonText?: string };
export type I18n = Readonly<Record<string, Texts>>;

/** The keys of a config that have a meaning, in the form in which they were let in. */
export type TaskConfig = {
  audience?: { groups?: string[]; roles?: Role[]; createdBefore?: string };
  from?: string;
  until?: string;
  repeatEveryDays?: number;
  fields?: ProfileField[];
};

export type ShownText = {
  language: string | null;
  title: string;
  description: string | null;
  buttonText: string | null;
};

/** Each text in the first of the languages that has it, in any where none of them has; a title there always is. */
export function localise({ name, i18n }: { name: string; i18n: I18n }, languages: readonly string[]): ShownText {
  const order = [...languages, ...Object.keys(i18n).toSorted()].filter((each) => Object.hasOwn(i18n, each));
  // Nothing may be a text, but no title.
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

export function hashOf({ title, description, buttonText }: ShownText): string {
  return sha256Hex(JSON.stringify({ title, description, buttonText }));
}

/** What has to be known of somebody to say which tasks are theirs. */
export type Member = { createdAt: string; role: Role; groupIds: readonly string[] };

/** Whether a task is shown to the person at the time. */
export function isFor({ audience = {}, from, until }: TaskConfig, member: Member, now: Date): boolean {
  const { groups, roles: wanted, createdBefore } = audience;
  const isInGroup = groups === undefined || groups.some((id) => member.groupIds.includes(id.toLowerCase()));
  const hasRole = wanted === undefined || wanted.includes(member.role);
  const isOldEnough = createdBefore === undefined || Date.parse(member.createdAt) < Date.parse(createdBefore);
  const hasBegun = from === undefined || Date.parse(from) <= now.getTime();
  const isOver = until !== undefined && Date.parse(until) <= now.getTime();
  return isInGroup && hasRole && isOldEnough && hasBegun && !isOver;
}

/** Whether there is a time at which a task is shown at all. */
export function isEverShown({ from, until }: TaskConfig): boolean {
  return from === undefined || until === undefined || Date.parse(from) < Date.parse(until);
}

/** In the one spelling in which ids are kept, each once. */
export function groupsOf({ audience }: TaskConfig): string[] {
  return [...new Set(audience?.groups?.map((id) => id.toLowerCase()))];
}

const dayMs = 24 * 60 * 60_000;

/** What was done at or before then is to be done again; null where once is enough. */
export function repeatsAfter({ repeatEveryDays }: TaskConfig, now: Date): string | null {
  return repeatEveryDays === undefined ? null : new Date(now.getTime() - repeatEveryDays * dayMs).toISOString();
}

/** Whether what was done then still counts. */
export function counts(config: TaskConfig, doneAt: string, now: Date): boolean {
  const limit = repeatsAfter(config, now);
  return limit === null || Date.parse(doneAt) > Date.parse(limit);
}

/** What there is to know of a person that completes a task by itself. */
export type Facts = {
  hasAvatar: boolean;
  hasProvenEmail: boolean;
  hasProvenPhone: boolean;
  profile: Readonly<Record<ProfileField, string | null>>;
};

const everyProfile: readonly ProfileField[] = ['fullName', 'locale'];

/** Whether what the task asks for is there; undefined for those of which only the person can say so. */
export function isDone({ type, config }: { type: TaskType; config: TaskConfig }, facts: Facts): boolean | undefined {
  switch (type) {
    case 'avatar':
      return facts.hasAvatar;
    case 'email_verification':
      return facts.hasProvenEmail;
    case 'phone_verification':
      return facts.hasProvenPhone;
    case 'profile':
      return (config.fields ?? everyProfile).every((field) => (facts.profile[field] ?? '').trim() !== '');
    case 'agb':
    case 'kyc':
    case 'custom':
      return undefined;
  }
}

/** Types whose facts are the account's, which lies outside of the tenant. */
export function isAboutAccount(type: TaskType): boolean {
  return type === 'email_verification' || type === 'phone_verification';
}

type Placed = { id: string; priority: number; created_at: string };

/** The listed ids first, then all others as they were. */
export function reordered(tasks: readonly Placed[], listed: readonly string[]): string[] {
  const rest = tasks.filter(({ id }) => !listed.includes(id)).toSorted(byPriority);
  return [...listed, ...rest.map(({ id }) => id)];
}

function byPriority(left: Placed, right: Placed): number {
  if (left.priority !== right.priority) return left.priority - right.priority;
  if (left.created_at !== right.created_at) return left.created_at < right.created_at ? -1 : 1;
  // Ids are UUIDv7: their order is the order of creation.
  return left.id < right.id ? -1 : 1;
}
