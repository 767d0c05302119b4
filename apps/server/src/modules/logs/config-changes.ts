import { levelNumbers, type LogConfig, type LogLevel } from '#core/data/log/log-config';
import { scheduleProblem } from '#core/platform/jobs/slots';
import { archiveFolders } from '#modules/logs/logs.rules';
import { maxConfiguredLevels, type LogConfigPatch, type PreviewBody } from '#modules/logs/logs.schemas';

/** Reasons why a change that matches its schema is invalid. */
export function configErrors({ console: output, formatting, database, cleanup }: LogConfigPatch, now: Date): string[] {
  const isTorn =
    output?.format !== undefined && formatting?.format !== undefined && output.format !== formatting.format;
  return [
    ...(isTorn ? ['formatting.format: must be the same as console.format'] : []),
    ...(database?.table !== undefined && database.table !== 'application_logs'
      ? ['database.table: must be application_logs']
      : []),
    ...cleanupErrors(cleanup, now),
  ];
}

function cleanupErrors({ archiveLocation, cleanupSchedule }: LogConfigPatch['cleanup'] = {}, now: Date): string[] {
  const schedule =
    cleanupSchedule === undefined ? undefined : scheduleProblem({ schedule: cleanupSchedule, timezone: 'UTC' }, now);
  const isPath = archiveLocation === undefined || archiveFolders(archiveLocation) !== undefined;
  return [
    ...(schedule === undefined ? [] : [`cleanup.cleanupSchedule: ${schedule}`]),
    ...(isPath ? [] : [notRelative]),
  ];
}

/** Why the configured archive location is invalid. */
export function archiveProblem({ cleanup: { archiveEnabled, archiveLocation } }: LogConfig): string | undefined {
  if (!archiveEnabled || archiveFolders(archiveLocation) !== undefined) return undefined;
  return notRelative;
}

const notRelative = 'cleanup.archiveLocation: must be a relative path, such as logs/production';

/** Consequences that the caller of a change should know. */
export function configWarnings(patch: LogConfigPatch, knownServices: readonly string[]): string[] {
  const levels = Object.entries(patch.logLevels ?? {});
  return [
    ...levels
      .filter(([service]) => !knownServices.includes(service))
      .map(([service]) => `logLevels.${service}: no service with this name has logged yet`),
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
    ...(output?.enabled === false && database?.enabled === false ? ['no lines will be written'] : []),
    ...cleanupWarnings(cleanup),
  ];
}

function cleanupWarnings(cleanup: LogConfigPatch['cleanup']): string[] {
  return [
    ...(cleanup?.enabled === false ? ['cleanup.enabled: the log will grow without end'] : []),
    ...(cleanup?.enabled === false && cleanup.archiveEnabled === true
      ? ['cleanup.archiveEnabled: days are archived by the cleanup, which is off']
      : []),
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

/** Changes only add levels, so their number needs a limit. */
export function tooManyLevels({ logLevels: levels }: LogConfig): string | undefined {
  const count = Object.keys(levels).length;
  if (count <= maxConfiguredLevels) return undefined;
  return `logLevels: ${count} services would have a level, at most ${maxConfiguredLevels} are allowed. Reset the configuration first.`;
}

/** Volume of a service at a level in the last 24 hours. */
export type Volume = { service: string; level: number; lines: number; bytes: number };

type CurrentState = { levels: Readonly<Record<string, LogLevel>>; retentionDays: number; volumes: readonly Volume[] };

/** Estimates the effect of new levels and retention from the lines of the last 24 hours. */
export function previewConfig({ logLevels: changed = {}, cleanup }: PreviewBody, present: CurrentState) {
  const { levels, volumes } = present;
  const retentionDays = cleanup?.retentionDays ?? present.retentionDays;
  const affected = Object.keys(changed).filter((service) => changed[service] !== levelIn(levels, service));
  const kept = volumes.filter(({ service, level }) => {
    const minLevel = Object.hasOwn(changed, service) ? changed[service] : undefined;
    return minLevel === undefined || level >= levelNumbers[minLevel];
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
      ...more.map(
        (service) => `${service}: lines below the current level are not in the estimate, so the volume will be larger`,
      ),
      ...(volumes.length === 0
        ? ['no lines were written in the last 24 hours, so there is no basis for an estimate']
        : []),
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
