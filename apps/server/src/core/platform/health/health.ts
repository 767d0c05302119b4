import { shareRun } from '#core/base/concurrency/coalesce';

/** State of something the service depends on; words only, no hosts and no inner errors. */
export type ServiceState = {
  name: string;
  status: 'healthy' | 'degraded' | 'unhealthy';
  message: string;
  /** Milliseconds. */
  responseTime: number;
  /** When it was looked at. */
  timestamp: string;
};

export type Verdict = Pick<ServiceState, 'status' | 'message'>;

/** One health check. */
export type Probe = {
  name: string;
  /** A failure, or no answer within a second, is `unhealthy`; the signal then aborts the check. */
  check(signal: AbortSignal): Promise<Verdict> | Verdict;
  /** The process knows the answer already: nothing is asked and nothing is kept. */
  isInstant?: boolean;
  /** Text of a failure. Default: `not reachable`. */
  failure?: string;
  /** A fault that the process has met by itself lately: it stands where the probe alone would say that all is well. */
  noticed?(): Verdict | undefined;
  /** Lifetime of a result in milliseconds, for parts that must not be checked often. */
  freshMs?: number;
};

/** Health of the parts that requests depend on; one check of each part runs at a time. */
export type Health = {
  /** All of them, none older than its probe allows, within about a second. */
  states(): Promise<readonly ServiceState[]>;
  /** One of them, in the same way. */
  state(name: string): Promise<ServiceState>;
  /** The last known states, without a check; those older than a minute are left out. */
  known(): readonly ServiceState[];
};

const limitMs = 1000;
/** Unless the probe says otherwise. */
const goodForMs = 5000;
/** The same; short, so that a recovery shows soon. */
const badForMs = 500;
const knownForMs = 60_000;

/** @param probes what there is to look at; what is not configured has none */
export function createHealth(probes: readonly Probe[], now: () => Date): Health {
  const watched = new Map(probes.map((probe) => [probe.name, watch(probe, now)]));
  const all = [...watched.values()];
  return {
    states: () => Promise.all(all.map((one) => one.state())),
    state: (name) => watched.get(name)!.state(),
    known: () => all.map((one) => one.known()).filter((state) => state !== undefined),
  };
}

function withNoticed(probe: Probe, state: ServiceState): ServiceState {
  const noticed = state.status === 'healthy' ? probe.noticed?.() : undefined;
  return noticed === undefined ? state : { ...state, ...noticed };
}

function watch(probe: Probe, now: () => Date): { state(): Promise<ServiceState>; known(): ServiceState | undefined } {
  let last: { state: ServiceState; at: number } | undefined;

  const failed: Verdict = { status: 'unhealthy', message: probe.failure ?? 'not reachable' };
  const stateOf = (verdict: Verdict, started: number): ServiceState => ({
    name: probe.name,
    ...verdict,
    responseTime: Math.round((performance.now() - started) * 10) / 10,
    timestamp: now().toISOString(),
  });
  // Shared however long it takes: a probe that hangs is not called again meanwhile.
  const ask = shareRun((signal: AbortSignal) => Promise.try(() => probe.check(signal)).catch(() => failed));

  const measure = shareRun(async () => {
    const started = performance.now();
    const timeout = new AbortController();
    const late = Promise.withResolvers<Verdict>();
    const timer = setTimeout(() => {
      late.resolve(failed);
      timeout.abort();
    }, limitMs).unref();
    const verdict = await Promise.race([ask(timeout.signal), late.promise]);
    clearTimeout(timer);
    const state = stateOf(verdict, started);
    last = { state, at: performance.now() };
    return state;
  });

  function fresh(): ServiceState | undefined {
    if (last === undefined) return undefined;
    const forMs = probe.freshMs ?? (last.state.status === 'healthy' ? goodForMs : badForMs);
    return performance.now() - last.at < forMs ? last.state : undefined;
  }

  if (probe.isInstant === true) {
    const look = () => stateOf(probe.check(AbortSignal.abort()) as Verdict, performance.now());
    return { state: () => Promise.resolve(look()), known: look };
  }
  function known(): ServiceState | undefined {
    if (last !== undefined && performance.now() - last.at < knownForMs) return withNoticed(probe, last.state);
    const noticed = probe.noticed?.();
    return noticed && stateOf(noticed, performance.now());
  }

  return {
    state() {
      const state = fresh();
      if (state !== undefined) return Promise.resolve(withNoticed(probe, state));
      return measure().then((measured) => withNoticed(probe, measured));
    },
    known,
  };
}
