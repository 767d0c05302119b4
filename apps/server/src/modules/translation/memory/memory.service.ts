import { sha256Hex } from '#core/base/crypto/secrets';
import type { TenantDb } from '#core/data/db/scopes';
import { assertOperationEnabled, protectionVersion, translateTexts } from '#modules/connectors/index';
import { flightsOf, shareFlight } from '#modules/translation/memory/flights';
import { findRemembered, listRemembered, remember, type Remembered } from '#modules/translation/memory/memory.queries';
import { recentOf } from '#modules/translation/memory/recent';
import { memoryLifeMs, termsOf, type Terms } from '#modules/translation/memory/terms';
import type { TranslationScope } from '#modules/translation/scope';

/** Two different languages (ISO 639-1, lower case). */
export type Pair = { source: string; target: string };

export type Translation = {
  text: string;
  /** The api_key of the connector that translated it. */
  provider: string;
  model: string | null;
  /** From the memory or from a shared provider call; this request made no call. */
  cached: boolean;
};

export type Tokens = { input: number; output: number; total: number };

type Wanted = Pair & { html: boolean; texts: readonly string[] };
type Known = ReadonlyMap<string, Translation>;

/**
 * Translates texts in order: from the memory if possible, the others by a provider, whose translations are stored. `tokens` is
 * the usage that the provider reports.
 * @throws OperationDisabled (403), ProvidersRefused (422), TooManyTranslations, QuotaExceeded (429), ProvidersFailed (502),
 * NoProvider (503)
 */
export async function translate(
  scope: TranslationScope,
  wanted: Wanted,
): Promise<{ translations: Translation[]; tokens: Tokens | null }> {
  const keys = wanted.texts.map((text) => keyOf(wanted, text));
  const terms = await termsOf(scope.services, { tenantId: scope.db.tenantId, operation: scope.operation });
  const known = await recall(scope, terms, keys);
  const missing = new Map(keys.map((key, at): [string, string] => [key, wanted.texts[at]!]));
  for (const key of known.keys()) missing.delete(key);
  const made = missing.size === 0 ? nothingMade : await obtain(scope, terms, { ...wanted, missing });
  const translations = keys.map((key) => (known.get(key) ?? made.known.get(key))!);
  return { translations, tokens: made.tokens };
}

type Made = { known: Known; tokens: Tokens | null };

const nothingMade: Made = { known: new Map(), tokens: null };

/** Hash of all inputs of a translation, hexadecimal. */
function keyOf({ source, target, html }: Wanted, text: string): string {
  const facts = JSON.stringify([protectionVersion, source, target, html ? 'html' : 'plain', text]);
  return sha256Hex(facts);
}

/** For a disabled operation the memory is empty, so that the provider call refuses the request. */
async function recall(
  { services, db, operation }: TranslationScope,
  terms: Terms,
  keys: readonly string[],
): Promise<Known> {
  if (!terms.isUsable) return new Map();
  const { tenantId } = db;
  const recent = recentOf(services.database, tenantId);
  const found = new Map<string, Translation>();
  const asked = keys.filter((key) => {
    const row = recent.get(key);
    if (row === undefined || !terms.counts(row)) return true;
    found.set(key, toTranslation(row));
    return false;
  });
  for (const { key, ...row } of await read(db, terms, asked)) {
    if (!terms.counts(row)) continue;
    recent.set(key, row);
    found.set(key, toTranslation(row));
  }
  for (const { provider } of found.values()) services.callLog.recordCacheHit({ tenantId, operation, provider });
  return found;
}

async function read(db: TenantDb, { notBefore }: Terms, keys: readonly string[]) {
  const { tenantId } = db;
  if (keys.length > 1) return db.all(listRemembered({ tenantId, notBefore, keys }));
  const [key] = keys;
  if (key === undefined) return [];
  const found = await db.first(findRemembered({ tenantId, notBefore, key: Buffer.from(key, 'hex') }));
  return found === undefined ? [] : [{ ...found, key }];
}

function toTranslation({ translation: text, provider, model }: Remembered): Translation {
  return { text, provider, model, cached: true };
}

type Missing = Omit<Wanted, 'texts'> & { missing: ReadonlyMap<string, string> };

/** Calls a provider; concurrent requests for the same texts share the call if the memory is enabled. */
async function obtain(scope: TranslationScope, terms: Terms, wanted: Missing): Promise<Made> {
  const signal = await scope.begin();
  if (!terms.isUsable) return ask(scope, wanted, signal);
  const { services, db, operation } = scope;
  const { tenantId } = db;
  const keys = [...wanted.missing.keys()];
  const flights = flightsOf(services.database);
  const flight = { key: [tenantId, operation, ...keys].join(' '), signal };
  const isJoined = flights.has(flight.key);
  // The operation may have been disabled since the shared call started.
  if (isJoined) await assertOperationEnabled(services, { tenantId, operation });
  let isOwn = false;
  const made = await shareFlight(flights, flight, async (until) => {
    isOwn = true;
    // Another call may have filled the memory since the first look-up.
    const known = await recall(scope, terms, keys);
    return known.size === keys.length ? { known, tokens: null } : ask(scope, wanted, until);
  });
  return isOwn ? made : toCopies(scope, made);
}

function toCopies({ services, db, operation }: TranslationScope, { known }: Made): Made {
  const { tenantId } = db;
  const copies = [...known].map(([key, made]): [string, Translation] => {
    if (made.provider === 'none') return [key, made];
    services.callLog.recordCacheHit({ tenantId, operation, provider: made.provider });
    return [key, { ...made, cached: true }];
  });
  return { known: new Map(copies), tokens: null };
}

async function ask(scope: TranslationScope, { source, target, html, missing }: Missing, signal: AbortSignal) {
  const { services, db, operation, caller } = scope;
  const texts = [...missing.values()];
  const call = { tenantId: db.tenantId, operation, caller, texts, source, target, html, signal };
  const asked = translateTexts(services, { ...call, timeouts: timeoutsFor(texts) });
  const answer = await asked.catch((error: unknown) => {
    // A disconnected client does not count as a provider failure.
    signal.throwIfAborted();
    throw error;
  });
  const { provider, model, tokens } = answer;
  const made = [...missing.keys()].map((key, at): [string, Translation] => {
    const text = toStorable(answer.texts[at]!);
    return [key, { text, provider, model, cached: false }];
  });
  await keep(scope, made);
  return { known: new Map(made), tokens };
}

/** Timeouts grow with the length and the number of texts. */
function timeoutsFor(texts: readonly string[]): { attemptMs: number; totalMs: number } {
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  const extraMs = Math.min(60_000, 4 * characters + 500 * (texts.length - 1));
  return { attemptMs: 10_000 + extraMs, totalMs: 14_000 + 1.5 * extraMs };
}

async function keep({ services, db }: TranslationScope, made: readonly [string, Translation][]): Promise<void> {
  // Texts without a provider call need no entry.
  if (memoryLifeMs(services) === 0 || made.every(([, { provider }]) => provider === 'none')) return;
  const rows = made.map(([key, { text: translation, provider, model }]) => ({ key, translation, provider, model }));
  const at = services.now().toISOString();
  try {
    await db.interactive.all(remember({ tenantId: db.tenantId, rows: JSON.stringify(rows), at }));
  } catch (error) {
    // A failed write to the memory must not lose a paid translation.
    services.log.warn({ err: error }, 'translations could not be added to the memory');
  }
}

/** Text that PostgreSQL can store: without NUL and lone surrogates. */
function toStorable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}
