type Settings = Readonly<Record<string, string | undefined>>;

/**
 * Settings that a provider needs in addition to the client; with an issuer of its own, Microsoft needs no directory.
 */
function neededSettings(provider: string, issuer: string | null): readonly string[] {
  if (provider === 'apple') return ['team_id', 'key_id'];
  return provider === 'microsoft' && issuer === null ? ['directory_id'] : [];
}

/** Missing settings, and settings that the provider does not use. */
export function settingsProblems(
  provider: string,
  { issuer, settings }: { issuer: string | null; settings: Settings },
): { missing: string[]; unknown: string[] } | undefined {
  const needed = neededSettings(provider, issuer);
  const missing = needed.filter((name) => settings[name] === undefined);
  const unknown = Object.keys(settings).filter((name) => !needed.includes(name));
  return missing.length + unknown.length === 0 ? undefined : { missing, unknown };
}

type Addressee = { issuer: string | null; settings: Settings };

/** Whether a stored secret may be kept: it is sent only to the issuer that it was entered for. */
export function isSameAddressee(before: Addressee, after: Addressee): boolean {
  return before.issuer === after.issuer && before.settings.directory_id === after.settings.directory_id;
}
