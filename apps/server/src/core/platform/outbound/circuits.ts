import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen, type CircuitBreakerPolicy } from 'cockatiel';
import { LRUCache } from 'lru-cache';

/** Calls of one key fail at once for a while after too many of them have failed in a row. */
export type Circuits = {
  /** @throws CircuitOpen without doing the work */
  run(key: string, work: () => Promise<Response>): Promise<Response>;
  /** Until when calls of the key fail at once; undefined where they do not. In the past while one call finds out. */
  openUntil(key: string): Date | undefined;
};

/** Nothing was asked: what failed five times in a row is left alone for ten seconds. */
export class CircuitOpen extends Error {
  constructor() {
    super('the circuit is open: the last calls have failed');
  }
}

/** A failure that says nothing of the other side: cancelled, or never begun. */
export class NotAsked extends Error {}

/** Never begun for what it was to send, which no wait would make better. */
export class NotSendable extends NotAsked {}

const failuresToOpen = 5;
/** Less than a connector is left alone, so that its circuit is not open any more when its pause is over. */
const openMs = 10_000;
/** The circuit that was not used for longest is forgotten, which closes it. */
const maxCircuits = 1000;

export function createCircuits(): Circuits {
  const circuits = new LRUCache<string, Circuit>({ max: maxCircuits });
  return {
    openUntil(key) {
      const { policy, openUntilMs = 0 } = circuits.peek(key) ?? {};
      const isOpen = policy?.state === CircuitState.Open && openUntilMs > Date.now();
      return isOpen || policy?.state === CircuitState.HalfOpen ? new Date(openUntilMs) : undefined;
    },
    async run(key, work) {
      const circuit = circuits.get(key) ?? createCircuit();
      circuits.set(key, circuit);
      // While one call finds out, the others would wait for what it finds.
      if (circuit.policy.state === CircuitState.HalfOpen) throw new CircuitOpen();
      let isBegun = false;
      return circuit.policy
        .execute(() => {
          isBegun = true;
          return work();
        })
        .catch((error: unknown) => {
          throw isBegun ? error : new CircuitOpen();
        });
    },
  };
}

type Circuit = { policy: CircuitBreakerPolicy; openUntilMs: number };

function createCircuit(): Circuit {
  const policy: CircuitBreakerPolicy = circuitBreaker(
    // A call that was to find out and did not leaves things as they were.
    handleWhen((error) => !(error instanceof NotAsked) || policy.state === CircuitState.HalfOpen).orWhenResult(
      (answer) => answer instanceof Response && answer.status >= 500,
    ),
    { breaker: new ConsecutiveBreaker(failuresToOpen), halfOpenAfter: openMs },
  );
  const circuit: Circuit = { policy, openUntilMs: 0 };
  policy.onBreak(() => void (circuit.openUntilMs = Date.now() + openMs));
  return circuit;
}
