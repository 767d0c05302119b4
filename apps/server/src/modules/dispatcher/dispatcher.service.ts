import type { Actor, Person } from '#core/base/access/principal';
import { acknowledgeAlert, listRecentAlerts, type AlertRow } from '#core/platform/jobs/alerts.queries';
import type { Dispatch } from '#core/platform/jobs/dispatcher';
import { listRecentDispatches, type DispatchRow } from '#core/platform/jobs/dispatches.queries';
import { listJobRows } from '#core/platform/jobs/jobs.queries';
import { overallOf } from '#core/platform/jobs/watch';
import type { Services } from '#core/platform/services';
import { AlertNotFound } from '#modules/dispatcher/dispatcher.errors';

type Dependencies = Pick<Services, 'database' | 'dispatcher' | 'health' | 'now'>;

/** Maximum wait of a caller, because many schedulers time out soon after. */
const waitMs = 10_000;
const maxRuns = 20;
const maxAlerts = 50;
const resolvedShownMs = 24 * 60 * 60_000;

/** Starts all due jobs. */
export async function runDispatcher({ dispatcher }: Dependencies) {
  const dispatch = await dispatcher.dispatch('external', { waitMs });
  const { jobs_skipped, alerts_sent } = dispatch;
  return { success: true, data: { ...presentLast(dispatch), jobs_skipped, alerts_sent } };
}

export async function getDispatcherHealth({ health, now }: Dependencies) {
  const states = await health.states();
  return {
    overall: overallOf(states),
    timestamp: now().toISOString(),
    services: states.map(({ name, status, message, timestamp }) => ({
      service_name: name,
      status,
      message,
      timestamp,
    })),
  };
}

export async function getDispatcherStatus({ database, dispatcher, now }: Dependencies) {
  const resolvedSince = new Date(now().getTime() - resolvedShownMs).toISOString();
  const [dispatches, alerts, rows] = await database
    .platform()
    .interactive.batch([
      listRecentDispatches({ max: maxRuns }),
      listRecentAlerts({ resolvedSince, max: maxAlerts }),
      listJobRows({}),
    ]);
  const ended = dispatches.filter((row): row is Dispatch => row.completed_at !== null);
  const off = new Set(rows.filter((row) => !row.enabled).map((row) => row.name));
  return {
    enabled: dispatcher.jobs.some((job) => !off.has(job.name)),
    mode: (await dispatcher.isDrivenOutside()) ? 'serverless' : 'hosted-scheduler',
    last_run: ended[0] === undefined ? null : presentLast(ended[0]),
    recent_runs: ended.map((row) => {
      const { completed_at: _completedAt, ...run } = presentRun(row);
      return run;
    }),
    recent_alerts: alerts.map(presentAlert),
  };
}

/** @throws AlertNotFound */
export async function acknowledge({ database, now }: Dependencies, id: string, actor: Actor<Person> | undefined) {
  const by = actor?.userId ?? null;
  const row = await database.platform().interactive.first(acknowledgeAlert({ id, by, at: now().toISOString() }));
  if (row === undefined) throw AlertNotFound();
  return { success: true, message: 'The alert is acknowledged.' };
}

function presentRun({ id, started_at, completed_at, jobs_executed, jobs_failed }: Dispatch) {
  const duration_ms = Math.max(0, Date.parse(completed_at) - Date.parse(started_at));
  return { run_id: id, started_at, completed_at, duration_ms, jobs_executed, jobs_failed };
}

function presentLast(dispatch: Dispatch) {
  const unknown: NonNullable<DispatchRow['health']> = { overall: 'healthy', services: [] };
  return { ...presentRun(dispatch), health_status: dispatch.health ?? unknown };
}

function presentAlert({ id, type, severity, title, message, acknowledged, created_at, resolved_at }: AlertRow) {
  const text = resolved_at === null ? message : `${message} Resolved at ${resolved_at}.`;
  return { id, type, severity, title, message: text, acknowledged, created_at };
}
