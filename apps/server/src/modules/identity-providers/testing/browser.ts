import { expect } from 'vitest';

import { sha256, newSecret } from '#core/base/crypto/secrets';
import type { TestService } from '#test/support/harness';

/** End of a chain of redirects: the application, or an answer without a redirect. */
export type Arrival = { url: URL; status: number; body: any };

export type Browser = {
  /** Follows redirects and posts forms as a browser does, up to the application or to an address that `until` names. */
  visit(address: string, until?: (url: URL) => boolean): Promise<Arrival>;
};

const maxSteps = 20;

/** An answer, and the address of its redirect. */
type Page = { status: number; body: any; next: { url: URL; form: string | undefined } | undefined };

/** A browser with the cookies of a user at the provider; without `person` the user refuses the login there. */
export function createBrowser(test: TestService, person?: string): Browser {
  const cookies = new Map<string, Map<string, string>>();

  async function openOutside(url: URL): Promise<Page> {
    const jar = cookies.get(url.host) ?? new Map(person === undefined ? [] : [['person', person]]);
    cookies.set(url.host, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value === '') jar.delete(name!);
      else jar.set(name!, value!);
    }
    const body = await answer.text();
    const location = answer.headers.get('location');
    const redirected = location === null ? undefined : { url: new URL(location, url), form: undefined };
    return { status: answer.status, body, next: redirected ?? readForm(body, url) };
  }

  async function openOurs(url: URL, form: string | undefined): Promise<Page> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const response = await test.raw({
      method: form === undefined ? 'GET' : 'POST',
      url: `${url.pathname}${url.search}`,
      ...(form === undefined ? {} : { payload: form, headers }),
    });
    const { location } = response.headers;
    return {
      status: response.statusCode,
      body: response.payload === '' ? undefined : JSON.parse(response.payload),
      next: location === undefined ? undefined : { url: new URL(location), form: undefined },
    };
  }

  return {
    async visit(address, until = () => false) {
      const own = new URL(test.service.services.settings.publicUrl).origin;
      let url = new URL(address);
      let form: string | undefined;
      for (let step = 0; step < maxSteps; step++) {
        const isOutside = url.origin !== own && url.hostname === '127.0.0.1';
        if (until(url) || (url.origin !== own && !isOutside)) return { url, status: 0, body: form };
        const { next, ...page } = isOutside ? await openOutside(url) : await openOurs(url, form);
        if (next === undefined) return { url, ...page };
        ({ url, form } = next);
      }
      throw new Error(`${address} leads nowhere`);
    },
  };
}

/** A page that posts itself (OAuth 2.0 Form Post Response Mode). */
function readForm(html: string, base: URL): Page['next'] {
  const action = /<form method="post" action="([^"]+)"/.exec(html)?.[1];
  if (action === undefined) return undefined;
  const inputs = [...html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  const fields = new URLSearchParams(inputs.map(([, name, value]) => [name!, unescape(value!)]));
  return { url: new URL(unescape(action), base), form: fields.toString() };
}

function unescape(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&amp;', '&');
}

/** The secret of an application and its public hash (RFC 7636). */
export function createPkce(): { verifier: string; challenge: string } {
  const verifier = newSecret();
  return { verifier, challenge: sha256(verifier).toString('base64url') };
}

/** The application's address without the added parameters, and those by name. */
export function arrivedWith({ url }: Arrival): { at: string; query: Record<string, string> } {
  expect(url.hash).toBe('');
  return { at: `${url.origin}${url.pathname}`, query: Object.fromEntries(url.searchParams) };
}
