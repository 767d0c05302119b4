import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen, type CircuitBreakerPolicy } from 'cockatiel';
import { LRUCache } from 'lru-cache';

/** Calls of one key fail at once for a while after too many of them have failed in a row. */
export type Circuits = {
  /** @throws CircuitOpen without doing the work */
  run(key: string, work: () => Promise<Response>): Promise<Response>;
  /** Until when calls of the key fail at once; undefined if the circuit is closed. In the past while one call tests the provider. */
  openUntil(key: string): Date | undefined;
};

/** No request was made: after five failures in a row the circuit is open for ten seconds. */
export class CircuitOpen extends Error {
  constructor() {
    super('the circuit is open: the last calls have failed');
  }
}

/** A failure that says nothing about the provider: the call was cancelled or never begun. */
export class CallNotMade extends Error {}

/** The request cannot be sent, and a retry would fail as well. */
export class NotSendable extends CallNotMade {}

const failuresToOpen = 5;
/** Shorter than the pause of a connector, so that its circuit is not open when the pause ends. */
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
      // While one call tests the provider, cockatiel would let the others wait for its result.
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
    // In the half-open state a call that was not made counts as a failure: the circuit opens again instead of closing.
    handleWhen((error) => !(error instanceof CallNotMade) || policy.state === CircuitState.HalfOpen).orWhenResult(
      (answer) => answer instanceof Response && answer.status >= 500,
    ),
    { breaker: new ConsecutiveBreaker(failuresToOpen), halfOpenAfter: openMs },
  );
  const circuit: Circuit = { policy, openUntilMs: 0 };
  policy.onBreak(() => void (circuit.openUntilMs = Date.now() + openMs));
  return circuit;
}
