import type { Provider } from '#modules/connectors/messaging/adapters/testing/account';
import { startHttpProvider, type HttpFake } from '#modules/connectors/messaging/adapters/testing/http-provider';
import { startMailProvider, type MailFake } from '#modules/connectors/messaging/adapters/testing/mail-provider';

export type { Fault, Provider } from '#modules/connectors/messaging/adapters/testing/account';

export type Fake = HttpFake | MailFake;

/** Serves a fake on a socket until the test ends. */
export function startProvider(fake: Fake): Promise<Provider> {
  return 'respond' in fake ? startHttpProvider(fake) : startMailProvider(fake);
}

/** A connector at the provider, as its administrator would create it. */
export function connectorAt(fake: Fake, { origin }: Pick<Provider, 'origin'>, rest: Record<string, unknown> = {}) {
  return {
    category: 'communication',
    api_base_url: 'respond' in fake ? `${origin}${fake.basePath}` : origin,
    config: { adapter: fake.adapter, ...fake.config },
    auth_config: fake.credentials,
    ...rest,
  };
}
