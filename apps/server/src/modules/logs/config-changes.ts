import { levelNumbers, type LogConfig, type LogLevel } from '#core/log/log-config';
import { maxConfiguredLevels, type LogConfigPatch, type PreviewBody } from '#modules/logs/logs.schemas';

/** What keeps a change that fits its schema from being carried out. */
export function configErrors({ console: output, formatting, database, cleanup }: LogConfigPatch): string[] {
  const isTorn =
    output?.format !== undefined && formatting?.format !== undefined && output.format !== formatting.format;
  return [
    ...(isTorn ? ['formatting.format: is the same as console.format'] : []),
    ...(database?.table !== undefined && database.table !== 'application_logs'
      ? ['database.table: must be application_logs']
      : []),
    ...(cleanup?.archiveEnabled === true
      ? ['cleanup.archiveEnabled: there is no archive; export what is to stay']
      : []),
  ];
}

/** What somebody who makes this change should know. */
export function configWarnings(patch: LogConfigPatch, knownServices: readonly string[]): string[] {
  const levels = Object.entries(patch.logLevels ?? {});
  return [
    ...levels
      .filter(([service]) => !knownServices.includes(service))
      .map(([service]) => `logLevels.${service}: no service of this name has logged anything yet`),
    ...levels
      .filter(([, level]) => level === 'trace' || level === 'debug')
      .map(([service, level]) => `logLevels.${service}: ${level} writes many lines`),
    ...sectionWarnings(patch),
  ];
}

function sectionWarnings({ console: output, database, formatting, cleanup }: LogConfigPatch): string[] {
  return [
    ...(formatting?.redactSensitive === false ? ['formatting.redactSensitive: secrets may be written to the log'] : []),
    ...(database?.enabled === false ? ['database.enabled: later lines can neither be searched nor exported'] : []),
    ...(output?.enabled === false && database?.enabled === false ? ['nothing will be logged at all'] : []),
    ...cleanupWarnings(cleanup),
  ];
}

function cleanupWarnings(cleanup: LogConfigPatch['cleanup']): string[] {
  return [
    ...(cleanup?.enabled === false ? ['cleanup.enabled: the log will grow without end'] : []),
    ...(cleanup?.archiveLocation ? ['cleanup.archiveLocation: is kept but not used, as there is no archive'] : []),
  ];
}

export function mergeConfig(config: LogConfig, patch: LogConfigPatch): LogConfig {
  const format = patch.console?.format ?? patch.formatting?.format ?? config.console.format;
  return {
    logLevels: { ...config.logLevels, ...patch.logLevels },
    console: { ...config.console, ...patch.console, format },
    database: { ...config.database, ...patch.database },
    formatting: { ...config.formatting, ...patch.formatting, format },
    cleanup: { ...config.cleanup, ...patch.cleanup },
  };
}

/** Levels are only ever added, one change at a time; they must not add up without end. */
export function tooManyLevels({ logLevels: levels }: LogConfig): string | undefined {
  const count = Object.keys(levels).length;
  if (count <= maxConfiguredLevels) return undefined;
  return `logLevels: ${count} services would have a level of their own, at most ${maxConfiguredLevels} can; reset the configuration to begin anew`;
}

/** How much a service logged at a level in the last 24 hours. */
export type Volume = { service: string; level: number; lines: number; bytes: number };

type Present = { levels: Readonly<Record<string, LogLevel>>; retentionDays: number; volumes: readonly Volume[] };

/** What a change of levels and retention would do, reckoned from what was really logged. */
export function previewConfig({ logLevels: changed = {}, cleanup }: PreviewBody, present: Present) {
  const { levels, volumes } = present;
  const retentionDays = cleanup?.retentionDays ?? present.retentionDays;
  const affected = Object.keys(changed).filter((service) => changed[service] !== levelIn(levels, service));
  const kept = volumes.filter(({ service, level }) => {
    const least = Object.hasOwn(changed, service) ? changed[service] : undefined;
    return least === undefined || level >= levelNumbers[least];
  });
  const current = sumOf(volumes, 'bytes') * present.retentionDays;
  const projected = sumOf(kept, 'bytes') * retentionDays;
  const more = affected.filter((service) => {
    const now = levelIn(levels, service);
    return now !== undefined && levelNumbers[changed[service]!] < levelNumbers[now];
  });
  return {
    affectedServices: affected.toSorted(),
    estimatedLogVolume: sumOf(kept, 'lines'),
    storageImpact: { current, projected, change: projected - current },
    warnings: [
      ...more.map((service) => `${service}: what is not written now is not in the estimate, so there will be more`),
      ...(volumes.length === 0 ? ['nothing was logged in the last 24 hours, so there is nothing to reckon from'] : []),
      ...(retentionDays < present.retentionDays
        ? [`lines older than ${retentionDays} days will be removed by the next cleanup`]
        : []),
    ],
  };
}

function levelIn(levels: Readonly<Record<string, LogLevel>>, service: string): LogLevel | undefined {
  return Object.hasOwn(levels, service) ? levels[service] : undefined;
}

function sumOf(volumes: readonly Volume[], field: 'lines' | 'bytes'): number {
  return volumes.reduce((sum, volume) => sum + volume[field], 0);
}
