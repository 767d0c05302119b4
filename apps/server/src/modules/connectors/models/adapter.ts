import type { ProviderSettings } from '#modules/connectors/provider';

/** What models make. */
export type ModelTask = 'text' | 'image';

/** A model as its provider lists it. Prices are US dollars in plain decimal notation, null where nobody knows them. */
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
  /** Per request, whatever its size. */
  requestPrice: string | null;
  /** The first instant at which it is not there any more, in RFC 3339. */
  expiresAt: string | null;
};

/** `dropped` are entries that are no model as the protocol describes it, or were there before. */
export type ModelList = { models: Model[]; dropped: number };

/** Speaks one provider's protocol. */
export type ModelsAdapter = {
  /** What is missing or wrong in the settings, as a sentence for whoever made them; never with a value in it. */
  problem(settings: ProviderSettings): string | undefined;
  request(settings: ProviderSettings, task: ModelTask): { url: string; headers: Record<string, string> };
  /** @throws ProviderFailure where the answer is no list of models */
  read(body: string, task: ModelTask): ModelList;
};
