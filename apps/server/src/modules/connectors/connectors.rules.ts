import { CredentialsRequired } from '#modules/connectors/connectors.errors';

/** Replaces every credential in answers; sent back, it keeps the stored value. */
const mask = '••••••••';

type Fields = Record<string, unknown>;

export function maskCredentials(stored: Fields): Fields {
  return Object.fromEntries(Object.keys(stored).map((key) => [key, mask]));
}

/** Replaces masks by stored values. @throws CredentialsRequired if a masked key has no stored value */
export function unmaskCredentials(sent: Fields, stored: Fields | null): Fields {
  return Object.fromEntries(
    Object.entries(sent).map(([key, value]) => {
      if (value !== mask) return [key, value];
      if (stored === null || !Object.hasOwn(stored, key)) throw CredentialsRequired();
      return [key, stored[key]];
    }),
  );
}

export function isSameOrigin(left: string, right: string): boolean {
  return originOf(left) === originOf(right);
}

/** Scheme, host and port; `URL.origin` is `null` for all mail servers. */
export function originOf(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}
