export type Fields = Readonly<Record<string, unknown>>;

/** A connector as its adapter sees it. */
export type ProviderSettings = { baseUrl: string; config: Fields; credentials: Fields | null };

/** The first of these fields that is missing, not a string, or does not match. */
export function firstProblem(
  place: 'config' | 'auth_config',
  fields: Fields | null,
  needed: Readonly<Record<string, RegExp>>,
): string | undefined {
  for (const [name, pattern] of Object.entries(needed)) {
    const value = fields?.[name];
    if (typeof value !== 'string') return `${place}.${name} has to be a text.`;
    if (!pattern.test(value)) return `${place}.${name} has not the form that the provider expects.`;
  }
  return undefined;
}

/** For all providers except mail servers. */
export function webProblem(baseUrl: string): string | undefined {
  return /^https?:/i.test(baseUrl) ? undefined : 'api_base_url has to begin with https: or http:.';
}

/** A path below a base URL; the query of the base URL stays. */
export function below(baseUrl: string, path: string): string {
  const url = new URL(baseUrl);
  const start = url.pathname.endsWith('/') ? url.pathname.slice(0, -1) : url.pathname;
  url.pathname = `${start}${path}`;
  return url.href;
}

/** A valid header value: printable ASCII without leading or trailing space. */
export const headerText = /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/;
