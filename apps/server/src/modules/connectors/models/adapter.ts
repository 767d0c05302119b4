import type { ProviderSettings } from '#modules/connectors/provider';
import type { Needs } from '#modules/connectors/settings';

/** What models make. */
export type ModelTask = 'text' | 'image';

/** A model as its provider lists it. Prices are US dollars in plain decimal notation, null if unknown. */
export type Model = {
  id: string;
  name: string;
  description: string | null;
  /** In tokens. */
  contextLength: number | null;
  /** Per token of the prompt. */
  promptPrice: string | null;
  /** Per token of the answer. */
  completionPrice: string | null;
  /** Per image. */
  imagePrice: string | null;
  /** Price per request, independent of its size. */
  requestPrice: string | null;
  /** The first instant at which it is not there any more, in RFC 3339. */
  expiresAt: string | null;
};

/** `dropped`: number of invalid or duplicate entries. */
export type ModelList = { models: Model[]; dropped: number };

/** Speaks one provider's protocol. */
export type ModelsAdapter = {
  readonly needs?: Needs;
  /** A problem with optional settings, as a sentence without values. */
  problem(settings: ProviderSettings): string | undefined;
  request(settings: ProviderSettings, task: ModelTask): { url: string; headers: Record<string, string> };
  /** @throws ProviderFailure if the answer is not a list of models */
  read(body: string, task: ModelTask): ModelList;
};
