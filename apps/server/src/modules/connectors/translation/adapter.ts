import type { ProviderSettings } from '#modules/connectors/provider';

/** Two languages that differ, by two letters each. */
export type LanguagePair = { source: string; target: string };

/** `isMarkup` where a text has markers in it, or entities: what takes no markup takes it literally otherwise. */
export type TranslationRequest = LanguagePair & { texts: readonly string[]; isMarkup: boolean };

export type TokenUse = { input: number; output: number; total: number };

/** Null where the provider says nothing of it. */
export type Translated = { texts: string[]; model: string | null; tokens: TokenUse | null };

/** Speaks one provider's protocol. What it is not to change stands in the texts as `<x id="1"/>` and `<g id="2">…</g>`. */
export type TranslationAdapter = {
  /** In one request. */
  readonly maxTexts: number;
  /** Of all texts in one request together, and so of each. */
  readonly maxCharacters: number;
  /** Requests at the same time. */
  readonly parallel: number;
  /** Whether it reads texts as markup, so that `&`, `<` and `>` have to be entities. */
  readonly escapes: boolean;
  /** What it would change besides, and so gets as markers. */
  readonly alsoProtects?: RegExp;
  /** What may help where markers were lost: to ask once more, to send what is between them, or nothing. */
  readonly retry: 'again' | 'apart' | 'never';
  /** What is missing or wrong in the settings, as a sentence for whoever made them; never with a value in it. */
  problem(settings: ProviderSettings): string | undefined;
  request(
    settings: ProviderSettings,
    wanted: TranslationRequest,
  ): { url: string; headers: Record<string, string>; body: string };
  /** @throws ProviderFailure unless it is exactly so many texts */
  read(settings: ProviderSettings, answer: string, count: number): Translated;
  /** A GET that costs nothing; any 2xx means that the provider is there and knows the credentials. */
  check(settings: ProviderSettings): { url: string; headers: Record<string, string> };
};
