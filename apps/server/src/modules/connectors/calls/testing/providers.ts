import { callProviders, type ProviderCall } from '#modules/connectors/calls/provider-calls.service';
import { createConnector } from '#modules/connectors/testing/connectors';
import { serveProvider, type Misbehave } from '#modules/connectors/testing/provider-server';
import type { TestService } from '#test/support/harness';

/** A provider on a socket that answers each request with a greeting until `answer` replaces it. */
export type Greeter = {
  id: string;
  key: string;
  url: string;
  /** The Authorization header of each request. */
  readonly asked: readonly (string | undefined)[];
  answer(how: Misbehave): void;
  /** Restores the initial answer. */
  heal(): void;
};

export async function createGreeter(
  test: TestService,
  token: string,
  rest: Record<string, unknown> = {},
): Promise<Greeter> {
  const { origin: url, asked, misbehave } = await serveProvider(() => ({ status: 200, body: 'hello' }));
  const body = { api_base_url: url, auth_config: { token: 'of the connector' }, ...rest };
  const { id, api_key: key } = await createConnector(test, token, body);
  return {
    id,
    key,
    url,
    get asked() {
      return asked.map(({ headers }) => headers.authorization);
    },
    answer: misbehave,
    heal: () => misbehave(undefined),
  };
}

export const status =
  (code: number, headers: Record<string, string> = {}): Misbehave =>
  (response) =>
    void response.writeHead(code, headers).end();

type Greeting = Partial<Omit<ProviderCall<string>, 'tenantId'>> & { tenantId: string };

/** Calls a provider through `callProviders` and returns its greeting. */
export function greet(test: TestService, { tenantId, ...rest }: Greeting) {
  return callProviders(test.service.services, {
    tenantId,
    operation: 'geocoding.search',
    caller: { userId: null, requestId: null },
    serves: () => true,
    attempt: async ({ baseUrl, credentials }, fetch) => {
      const authorization = String(credentials?.['token']);
      const answer = await fetch(baseUrl, { headers: { authorization } });
      return { result: await answer.text() };
    },
    ...rest,
  });
}
