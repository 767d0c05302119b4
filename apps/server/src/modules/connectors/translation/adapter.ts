import type { ProviderSettings } from '#modules/connectors/provider';
import type { Needs } from '#modules/connectors/settings';

/** Two different languages (ISO 639-1). */
export type LanguagePair = { source: string; target: string };

/** `isMarkup`: texts contain markers or entities, which plain text providers would take literally. */
export type TranslationRequest = LanguagePair & { texts: readonly string[]; isMarkup: boolean };

export type TokenUse = { input: number; output: number; total: number };

/** Null if the provider does not report it. */
export type Translated = { texts: string[]; model: string | null; tokens: TokenUse | null };

/** The protocol of one provider. Protected parts are in the texts as `<x id="1"/>` and `<g id="2">…</g>`. */
export type TranslationAdapter = {
  /** Maximum number of texts in a request. */
  readonly maxTexts: number;
  /** Maximum length of all texts in a request. */
  readonly maxCharacters: number;
  /** Maximum number of concurrent requests. */
  readonly parallel: number;
  /** Whether the provider parses texts as markup, so that `&`, `<` and `>` must be entities. */
  readonly escapes: boolean;
  /** Further text that the provider would change, and so gets as markers. */
  readonly alsoProtects?: RegExp;
  /** Remedy for lost markers: a retry, sending the text between them, or none. */
  readonly retry: 'again' | 'apart' | 'never';
  readonly needs?: Needs;
  /** A problem with optional settings, as a sentence without values. */
  problem(settings: ProviderSettings): string | undefined;
  request(
    settings: ProviderSettings,
    wanted: TranslationRequest,
  ): { url: string; headers: Record<string, string>; body: string };
  /** @throws ProviderFailure unless the number of texts is exact */
  read(settings: ProviderSettings, answer: string, count: number): Translated;
  /** A free GET; 2xx proves that the provider works and accepts the credentials. */
  check(settings: ProviderSettings): { url: string; headers: Record<string, string> };
};
