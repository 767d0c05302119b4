import type { Actor, Person } from '#core/base/access/principal';
import { withTotal } from '#core/data/db/totals';
import { levelNumbers, logConfiguration, logLevels, type LogConfig, type LogLevel } from '#core/data/log/log-config';
import type { LogRow } from '#core/data/log/log-store.queries';
import { middleOf } from '#core/data/log/request-counts';
import { parseSort, toPage, type SetHeader } from '#core/http/paging';
import { createCheck } from '#core/http/validation';
import type { Services } from '#core/platform/services';
import {
  archiveProblem,
  configErrors,
  configWarnings,
  mergeConfig,
  previewConfig,
  tooManyLevels,
} from '#modules/logs/config-changes';
import { ConfigInvalid, PeriodInvalid, SectionNotFound } from '#modules/logs/logs.errors';
import {
  countLogs,
  listLogs,
  sumDurations,
  sumErrors,
  sumTenants,
  sumVolumes,
  type LogFilters,
} from '#modules/logs/logs.queries';
import { percentileOf } from '#modules/logs/logs.rules';
import {
  LogConfigPatch,
  sections,
  type AnalyticsQuery,
  type ListLogsQuery,
  type LogRecord,
  type PreviewBody,
  type Section,
  type ValidateBody,
} from '#modules/logs/logs.schemas';

type Dependencies = Pick<Services, 'database' | 'logging' | 'now' | 'requestCounts' | 'runtimeSettings'>;

type Reader = { services: Dependencies; setHeader: SetHeader };
type Changer = { services: Dependencies; actor: Actor<Person> };

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const maxAnalysisMs = 7 * dayMs;

export async function searchLogs({ services, setHeader }: Reader, query: ListLogsQuery) {
  const { limit = 50, offset = 0, sort } = query;
  const { descending } = parseSort(sort) ?? { descending: true };
  const filters = toFilters(query, services.now());
  const db = services.database.platform();
  const page = await db.interactive.all(listLogs(filters, { limit, offset, descending }));
  const { rows, ...total } = await withTotal(db, page, countLogs(filters), { limit, offset });
  return toPage(rows.map(presentLog), { limit, offset }, total, setHeader);
}

function toFilters(query: ListLogsQuery, now: Date): LogFilters {
  const { level, service, tenantId, userId, requestId, startTime, endTime, search } = query;
  // No index has the words of messages, so the searched time must be limited.
  const isOpenSearch = search !== undefined && startTime === undefined;
  const latest = endTime === undefined ? now.getTime() : Math.min(now.getTime(), Date.parse(endTime));
  return {
    levels: level?.split(',').map((name) => levelNumbers[name as LogLevel]),
    service,
    tenantId,
    userId,
    requestId,
    from: isOpenSearch ? new Date(latest - dayMs).toISOString() : startTime,
    to: endTime,
    search,
  };
}

export function presentLog(row: LogRow): LogRecord {
  return {
    id: row.id,
    timestamp: row.logged_at,
    level: logLevels.find((level) => levelNumbers[level] === row.level)!,
    message: row.message,
    service: row.service,
    tenantId: row.concerned_tenant_id,
    userId: row.user_id,
    requestId: row.request_id,
    context: JSON.parse(row.context) as LogRecord['context'],
  };
}

/** Request counts and times in whole minutes; tenants and errors in whole hours. */
export async function analyseLogs(services: Dependencies, query: AnalyticsQuery) {
  const { from, to } = analysedPeriod(query, services.now());
  await services.requestCounts.flush();
  const minutes = { from: floorTo(from, minuteMs), to: to.toISOString() };
  const hours = { from: floorTo(from, 60 * minuteMs), to: to.toISOString() };
  const db = services.database.platform();
  const [durations, tenants, errors] = await db.interactive.batch([
    sumDurations(minutes),
    sumTenants(hours),
    sumErrors(hours),
  ]);
  const totalRequests = durations.reduce((sum, { requests }) => sum + requests, 0);
  const errorCount = durations.reduce((sum, step) => sum + step.errors, 0);
  const percentile = (percent: number) => {
    const bucket = percentileOf(durations, percent);
    return bucket === undefined ? 0 : Number(middleOf(bucket).toPrecision(3));
  };
  const data = {
    errorRate: totalRequests === 0 ? 0 : Number((errorCount / totalRequests).toFixed(6)),
    errorCount,
    totalRequests,
    responseTime: { p50: percentile(50), p95: percentile(95), p99: percentile(99) },
    topErrors: errors.map((row) => ({ message: row.message, count: row.errors, lastOccurrence: row.last_at })),
    tenantActivity: tenants.map((row) => ({
      tenantId: row.tenant,
      requestCount: row.requests,
      errorCount: row.errors,
    })),
  };
  return { data };
}

function analysedPeriod({ startTime, endTime }: AnalyticsQuery, now: Date): { from: Date; to: Date } {
  const to = endTime === undefined ? now : new Date(endTime);
  const from = startTime === undefined ? new Date(to.getTime() - dayMs) : new Date(startTime);
  const length = to.getTime() - from.getTime();
  if (length <= 0 || length > maxAnalysisMs) throw PeriodInvalid();
  return { from, to };
}

function floorTo(date: Date, stepMs: number): string {
  return new Date(Math.floor(date.getTime() / stepMs) * stepMs).toISOString();
}

export async function getLogConfig(services: Dependencies) {
  const { value } = await services.runtimeSettings.read(logConfiguration);
  return { data: present(services, value) };
}

export async function getLogSection(services: Dependencies, name: string) {
  const section = sectionOf(name);
  const { data } = await getLogConfig(services);
  return { data: data[keyOf(section)] };
}

function present({ logging }: Dependencies, config: LogConfig): LogConfig {
  return { ...config, logLevels: { ...logging.levels(), ...config.logLevels } };
}

export async function updateLogConfig({ services, actor }: Changer, patch: LogConfigPatch) {
  const errors = configErrors(patch, services.now());
  if (errors.length > 0) throw ConfigInvalid({ details: { errors } });
  const action = 'log_configuration.updated';
  const apply = (current: LogConfig) => {
    const merged = mergeConfig(current, patch);
    const tooMany = tooManyLevels(merged);
    // The number of levels and an old archive location are visible only in the merged configuration.
    const found = [tooMany, archiveProblem(merged)].filter((error) => error !== undefined);
    if (found.length > 0) throw ConfigInvalid({ details: { errors: found } });
    return merged;
  };
  await services.runtimeSettings.change(logConfiguration, { action, actor, apply });
  return { data: { message: 'The log configuration is in effect.', applied: true } };
}

export function updateLogSection(changer: Changer, { name, value }: { name: string; value: unknown }) {
  const patch = { [keyOf(sectionOf(name))]: value };
  const error = schemaError(patch);
  if (error !== undefined) throw ConfigInvalid({ details: { errors: [error] } });
  return updateLogConfig(changer, patch);
}

export function validateLogConfig({ logging, now, runtimeSettings }: Dependencies, { section, config }: ValidateBody) {
  const patch = section === undefined ? config : { [keyOf(section)]: config };
  const error = schemaError(patch);
  if (error !== undefined) return { data: { valid: false, errors: [error], warnings: [] } };
  const tooMany = tooManyLevels(mergeConfig(runtimeSettings.current(logConfiguration), patch));
  const errors = [...configErrors(patch, now()), ...(tooMany === undefined ? [] : [tooMany])];
  const warnings = configWarnings(patch, Object.keys(logging.levels()));
  return { data: { valid: errors.length === 0, errors, warnings } };
}

export async function resetLogConfig({ services, actor }: Changer) {
  const apply = () => logConfiguration.complete({});
  await services.runtimeSettings.change(logConfiguration, { action: 'log_configuration.reset', actor, apply });
  return { data: { message: 'The log configuration has its defaults.', reset: true } };
}

export async function previewLogConfig(services: Dependencies, body: PreviewBody) {
  const { value } = await services.runtimeSettings.read(logConfiguration);
  const to = services.now();
  const period = { from: new Date(to.getTime() - dayMs).toISOString(), to: to.toISOString() };
  const volumes = await services.database.platform().interactive.all(sumVolumes(period));
  const { logLevels: levels, cleanup } = present(services, value);
  return { data: previewConfig(body, { levels, retentionDays: cleanup.retentionDays, volumes }) };
}

function sectionOf(name: string): Section {
  const section = sections.find((one) => one === name);
  if (section === undefined) throw SectionNotFound();
  return section;
}

function keyOf(section: Section): keyof LogConfig {
  return section === 'log-levels' ? 'logLevels' : section;
}

const check = createCheck(LogConfigPatch);

/** Where and why a configuration does not match its schema, without the invalid value. */
function schemaError(patch: unknown): string | undefined {
  const found = check(patch);
  if (found === undefined) return undefined;
  const place = found.path.slice(1);
  return `${place === '' ? '' : `${place}: `}${found.message}`;
}
