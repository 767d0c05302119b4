import type { Fields, ProviderSettings } from '#modules/connectors/provider';

/** Required settings of an adapter with their formats. */
export type Needs = Readonly<Partial<Record<'config' | 'auth_config', Readonly<Record<string, RegExp>>>>>;

/** The part of an adapter that validates settings. */
export type SettingsRules = {
  readonly needs?: Needs;
  problem(settings: ProviderSettings): string | undefined;
};

/** Missing required settings, such as `auth_config.token`. */
export function missingSettings({ needs = {} }: SettingsRules, settings: ProviderSettings): string[] {
  return requiredIn(needs, settings)
    .filter(({ value }) => value === undefined)
    .map(({ name }) => name);
}

/** The problem of the first invalid setting, as a sentence without its value. */
export function settingsProblem(rules: SettingsRules, settings: ProviderSettings): string | undefined {
  const wrong = requiredIn(rules.needs ?? {}, settings).find(({ value, pattern }) => {
    return value !== undefined && (typeof value !== 'string' || !pattern.test(value));
  });
  if (wrong === undefined) return rules.problem(settings);
  const isText = typeof wrong.value === 'string';
  return `${wrong.name} ${isText ? 'has not the form that the provider expects' : 'has to be a text'}.`;
}

/** Whether calls can be made with the settings. */
export function isUsable(rules: SettingsRules, settings: ProviderSettings): boolean {
  return missingSettings(rules, settings).length === 0 && settingsProblem(rules, settings) === undefined;
}

function requiredIn({ config = {}, auth_config = {} }: Needs, { config: given, credentials }: ProviderSettings) {
  const of = (place: string, fields: Fields | null, patterns: Readonly<Record<string, RegExp>>) =>
    Object.entries(patterns).map(([name, pattern]) => {
      const value = fields !== null && Object.hasOwn(fields, name) ? fields[name] : undefined;
      return { name: `${place}.${name}`, value, pattern };
    });
  return [...of('config', given, config), ...of('auth_config', credentials, auth_config)];
}
