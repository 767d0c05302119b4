import { CredentialsRequired } from '#modules/connectors/connectors.errors';

/** What is shown of every credential; sent back, it stands for the stored one. */
const mask = '••••••••';

type Fields = Record<string, unknown>;

export function maskCredentials(stored: Fields): Fields {
  return Object.fromEntries(Object.keys(stored).map((key) => [key, mask]));
}

/** The credentials with stored values in the place of masks. @throws CredentialsRequired where nothing is stored under a masked key */
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

/** Scheme, host and port; in the sense of browsers all mail servers would have the same origin, which is none. */
export function originOf(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}
