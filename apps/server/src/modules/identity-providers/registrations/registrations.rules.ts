type Settings = Readonly<Record<string, string | undefined>>;

/** What a provider has to know beyond the client; with an issuer of its own Microsoft's directory is that issuer. */
function neededSettings(provider: string, issuer: string | null): readonly string[] {
  if (provider === 'apple') return ['team_id', 'key_id'];
  return provider === 'microsoft' && issuer === null ? ['directory_id'] : [];
}

/** The settings that are missing, and those that the provider has no use for. */
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

/** Whether a stored secret may go on being sent: to nobody but whom it was given for. */
export function isSameAddressee(before: Addressee, after: Addressee): boolean {
  return before.issuer === after.issuer && before.settings.directory_id === after.settings.directory_id;
}
