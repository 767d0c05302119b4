import { sha256Hex } from '#core/crypto/secrets';
import type { TenantDb } from '#core/db/scopes';
import { assertOperationEnabled, protectionVersion, translateTexts } from '#modules/connectors/index';
import { flightsOf, shareFlight } from '#modules/translation/memory/flights';
import { findRemembered, listRemembered, remember, type Remembered } from '#modules/translation/memory/memory.queries';
import { recentOf } from '#modules/translation/memory/recent';
import { memoryLifeMs, termsOf, type Terms } from '#modules/translation/memory/terms';
import type { TranslationScope } from '#modules/translation/scope';

/** Two languages that differ, by their codes in lower case. */
export type Pair = { source: string; target: string };

export type Translation = {
  text: string;
  /** The api_key of the connector that made it. */
  provider: string;
  model: string | null;
  /** It was made before, or for somebody else at the same time: nobody was asked for this one. */
  cached: boolean;
};

export type Tokens = { input: number; output: number; total: number };

type Wanted = Pair & { html: boolean; texts: readonly string[] };
type Known = ReadonlyMap<string, Translation>;

/**
 * Translates texts, each in the place of its original: those that were translated lately from memory, the others by a provider,
 * whose translations are remembered. `tokens` is what a provider says that it has used now.
 * @throws OperationDisabled (403), ProvidersRefused (422), TooManyTranslationsAtOnce, QuotaExceeded (429), ProvidersFailed (502),
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

/** Of all that a translation depends on, in hexadecimal. */
function keyOf({ source, target, html }: Wanted, text: string): string {
  const facts = JSON.stringify([protectionVersion, source, target, html ? 'html' : 'plain', text]);
  return sha256Hex(facts);
}

/** Where the operation is switched off memory knows nothing, and whoever calls a provider then is refused. */
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

/** From a provider; who wants the same at the same time, and may have what is remembered, waits for one answer to all. */
async function obtain(scope: TranslationScope, terms: Terms, wanted: Missing): Promise<Made> {
  const signal = await scope.begin();
  if (!terms.isUsable) return ask(scope, wanted, signal);
  const { services, db, operation } = scope;
  const { tenantId } = db;
  const keys = [...wanted.missing.keys()];
  const flights = flightsOf(services.database);
  const flight = { key: [tenantId, operation, ...keys].join(' '), signal };
  const isJoined = flights.has(flight.key);
  // It may have been switched off since the others began.
  if (isJoined) await assertOperationEnabled(services, { tenantId, operation });
  let isOwn = false;
  const made = await shareFlight(flights, flight, async (until) => {
    isOwn = true;
    // What was under way when memory was asked may have come back since.
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
  const asked = translateTexts(services, { ...call, patience: patienceFor(texts) });
  const answer = await asked.catch((error: unknown) => {
    // Whoever has left is no failure of the providers.
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

/** What is written longer takes longer, and so does what is more. */
function patienceFor(texts: readonly string[]): { attemptMs: number; totalMs: number } {
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  const extraMs = Math.min(60_000, 4 * characters + 500 * (texts.length - 1));
  return { attemptMs: 10_000 + extraMs, totalMs: 14_000 + 1.5 * extraMs };
}

async function keep({ services, db }: TranslationScope, made: readonly [string, Translation][]): Promise<void> {
  // What needed nobody is as quickly done again.
  if (memoryLifeMs(services) === 0 || made.every(([, { provider }]) => provider === 'none')) return;
  const rows = made.map(([key, { text: translation, provider, model }]) => ({ key, translation, provider, model }));
  const at = services.now().toISOString();
  try {
    await db.slow.all(remember({ tenantId: db.tenantId, rows: JSON.stringify(rows), at }));
  } catch (error) {
    // What was translated and paid for is answered all the same.
    services.log.warn({ err: error }, 'translations could not be remembered');
  }
}

/** What PostgreSQL can keep: no NUL, and no half of a character. */
function toStorable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}
