import type { Model } from '#modules/connectors/models/adapter';
import type { Respond } from '#modules/connectors/testing/provider-server';

/** A provider of models as its public documentation describes it, with an account at it. */
export type ModelsFake = {
  adapter: string;
  /** The part of the base URL behind the host. */
  basePath: string;
  credentials: Record<string, unknown>;
  /** An account that it does not know. */
  wrongCredentials: Record<string, unknown>;
  respond: Respond;
  /** What it lists for each task, as it is understood. */
  lists: { text: Model[]; image: Model[] };
};
