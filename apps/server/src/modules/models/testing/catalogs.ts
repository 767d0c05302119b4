import { onTestFinished } from 'vitest';

import { modelhubFake } from '#modules/connectors/models/adapters/modelhub/testing/fake';
import { createConnector, path } from '#modules/connectors/testing/connectors';
import { serveProvider, type ProviderServer } from '#modules/connectors/testing/provider-server';
import { logInSystemAdmin } from '#test/support/factories';
import type { TestService } from '#test/support/harness';

export const url = '/api/v1/secure/admin/external-apis/modelhub/models';

/** A provider of models that lists what `entries` says, and a connector to it. */
export type Hub = ProviderServer & { id: string; list(entries: readonly object[]): void };

/** What a provider lists at least, and does not charge for. */
export const entry = (id: string, rest: object = {}) => ({
  id,
  name: id,
  pricing: { prompt: '0', completion: '0' },
  ...rest,
});

export async function provideModels(
  test: TestService,
  token: string,
  rest: Record<string, unknown> = {},
): Promise<Hub> {
  const provider = await serveProvider(modelhubFake.respond);
  const { id } = await createConnector(test, token, {
    category: 'system_sync',
    api_base_url: `${provider.origin}${modelhubFake.basePath}`,
    config: { adapter: 'modelhub' },
    auth_config: modelhubFake.credentials,
    ...rest,
  });
  const list = (entries: readonly object[]) => provider.say(() => ({ status: 200, body: { data: entries } }));
  return { ...provider, id, list };
}

/** A provider of the installation, for one test. */
export async function provideSystemModels(test: TestService, rest: Record<string, unknown> = {}): Promise<Hub> {
  const { token } = await logInSystemAdmin(test);
  const hub = await provideModels(test, token, rest);
  onTestFinished(async () => {
    await test.call('DELETE', `${path}/${hub.id}`, { token });
  });
  return hub;
}
