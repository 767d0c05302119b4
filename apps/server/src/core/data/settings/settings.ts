import type { Actor, Person } from '#core/base/access/principal';
import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditForSystem } from '#core/data/audit/system-trail';
import { createRetry } from '#core/data/background/retry';
import type { Database } from '#core/data/db/database';
import type { Query } from '#core/data/db/query';
import type { Transaction } from '#core/data/db/scopes';
import type { Log } from '#core/data/log/log';
import {
  findSetting,
  listSettings,
  lockSetting,
  updateSetting,
  type SettingRow,
} from '#core/data/settings/settings.queries';

/** Every process listens here and reads the setting that a message names again. */
export const settingsChannel = 'atrium_settings';

/** Configuration that system administrators change while the service runs. */
export type Setting<Value extends object> = {
  readonly name: string;
  /** The stored values, completed with defaults. */
  complete(stored: Readonly<Record<string, unknown>>): Value;
};

/** A setting with what is known of its row; without a row the setting has never been changed. */
export type SettingRecord<Value> = {
  value: Value;
  row: Pick<SettingRow, 'id' | 'created_at' | 'updated_at' | 'updated_by'>;
};

type Change<Value> = {
  action: string;
  actor: Actor<Person>;
  /** Locks of other things the change depends on: every change takes them before that of the setting. */
  lock?: Query<never>;
  /** From what is stored, under lock, to what is to be stored. Throw to refuse. */
  apply(current: Value, tx: Transaction): Value | Promise<Value>;
};

/** The settings of the installation as this process knows them, and the one way to change them. */
export type RuntimeSettings = {
  /** As last heard: never waits, lags a change elsewhere by moments. */
  current<Value extends object>(setting: Setting<Value>): Value;
  /** As the database has it, or as a transaction sees it. */
  read<Value extends object>(setting: Setting<Value>, tx?: Transaction): Promise<SettingRecord<Value>>;
  /** One change at a time, recorded in the trail of the system tenant; in force here when it resolves. */
  change<Value extends object>(setting: Setting<Value>, change: Change<Value>): Promise<SettingRecord<Value>>;
  /** Called with each value that comes into force here, and with the present one at once. */
  watch<Value extends object>(setting: Setting<Value>, onValue: (value: Value) => void): void;
  /** Called by the listener: a setting changed in another process, or messages may have been missed. Retried until it succeeds. */
  reload(): Promise<void>;
  close(): void;
};

type Options = { database: Database; log: Log; now(): Date; retryMs?: number };
type Stored = Readonly<Record<string, unknown>>;

export function createRuntimeSettings({ database, log, now, retryMs = 1000 }: Options): RuntimeSettings {
  const known = new Map<string, { stored: Stored; updatedAt: string }>();
  const retry = createRetry(() => reload(), retryMs);
  const watchers = new Map<string, ((stored: Stored) => void)[]>();
  const storedOf = (name: string): Stored => known.get(name)?.stored ?? {};

  function learn({ name, value, updated_at: updatedAt }: SettingRow): void {
    const before = known.get(name);
    // An older answer may arrive after a newer one.
    if (before !== undefined && before.updatedAt >= updatedAt) return;
    known.set(name, { stored: value, updatedAt });
    for (const tell of watchers.get(name) ?? []) tell(value);
  }

  async function reload(): Promise<void> {
    try {
      for (const row of await database.platform().all(listSettings({}))) learn(row);
    } catch (error) {
      if (retry.later()) log.warn({ err: error }, 'settings could not be read; the current ones stay in effect');
    }
  }

  return {
    current: (setting) => setting.complete(storedOf(setting.name)),
    async read(setting, tx) {
      const row = await (tx ?? database.platform()).first(findSetting({ name: setting.name }));
      const at = now().toISOString();
      const unchanged = { id: systemTenantId, created_at: at, updated_at: at, updated_by: null };
      return { value: setting.complete(row?.value ?? {}), row: row ?? unchanged };
    },
    async change(setting, change) {
      const row = await database.platform().transaction((tx) => store(tx, setting, change, now()));
      learn(row);
      return { value: setting.complete(row.value), row };
    },
    watch(setting, onValue) {
      const tell = (stored: Stored) => onValue(setting.complete(stored));
      watchers.set(setting.name, [...(watchers.get(setting.name) ?? []), tell]);
      tell(storedOf(setting.name));
    },
    reload,
    close: () => retry.close(),
  };
}

async function store<Value extends object>(
  tx: Transaction,
  setting: Setting<Value>,
  { action, actor, lock, apply }: Change<Value>,
  now: Date,
): Promise<SettingRow> {
  const { name } = setting;
  if (lock !== undefined) await tx.all(lock);
  const locked = (await tx.first(lockSetting({ name, id: newId(), at: now.toISOString() })))!;
  const before = setting.complete(locked.value);
  const value = (await apply(before, tx)) as Record<string, unknown>;
  // Later than the replaced version, even if the clocks of two processes differ: the time tells which one is newer.
  const at = new Date(Math.max(now.getTime(), Date.parse(locked.updated_at) + 1)).toISOString();
  const fields = changedFields(before as Record<string, unknown>, value);
  await tx.all({ kind: 'write', text: 'select pg_notify($1, $2)', values: [settingsChannel, name], prepare: true });
  const row = (await tx.first(updateSetting({ name, value, at, by: actor.userId })))!;
  await auditForSystem(tx, actor, at, { action, resourceType: name, resourceId: locked.id, details: { fields } });
  return row;
}

function changedFields(before: Stored, after: Stored): string[] {
  return Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
}
