import { orAborted } from '#core/base/concurrency/or-aborted';
import { perDatabase } from '#core/data/db/per-database';

/** Work that several callers share. */
type Flight<Result> = { result: Promise<Result>; waiting: number; leaving: AbortController };
type Flights = Map<string, Flight<unknown>>;

/** Running work of this process by key. */
export const flightsOf = perDatabase<Flights>(() => new Map());

/**
 * Starts the work, or joins equal work under way (request coalescing). It is aborted when the last caller leaves.
 * @throws the reason of the signal, or the error of the work
 */
export async function shareFlight<Result>(
  flights: Flights,
  { key, signal }: { key: string; signal: AbortSignal },
  begin: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const flight = (flights.get(key) ?? launch(flights, key, begin)) as Flight<Result>;
  flight.waiting += 1;
  try {
    return await orAborted(flight.result, signal);
  } finally {
    flight.waiting -= 1;
    if (flight.waiting === 0) {
      land(flights, key, flight);
      flight.leaving.abort(signal.reason);
    }
  }
}

function launch<Result>(flights: Flights, key: string, begin: (signal: AbortSignal) => Promise<Result>) {
  const leaving = new AbortController();
  const flight: Flight<Result> = { result: begin(leaving.signal), waiting: 0, leaving };
  flights.set(key, flight);
  const end = () => land(flights, key, flight);
  flight.result.then(end, end);
  return flight;
}

/** The next caller starts new work. */
function land(flights: Flights, key: string, flight: Flight<unknown>): void {
  if (flights.get(key) === flight) flights.delete(key);
}
