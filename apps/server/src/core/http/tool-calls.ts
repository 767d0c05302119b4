import { decideTool } from '#core/base/access/access';
import { defineError, type AppError } from '#core/base/errors/app-error';
import { ServiceUnavailable } from '#core/base/errors/common-errors';
import type { Caller, Operation } from '#core/http/operation';
import type { OperationCall, Route, ToolOutcome } from '#core/http/route';
import { toolHints } from '#core/http/tool';

type Options = {
  operations: ReadonlyMap<Route, Operation>;
  timeoutMs: number;
  /** Converts any thrown value to the error the caller may see; logs internal faults. */
  toFailure(error: unknown, requestId: string): AppError;
  inspectAnswer?: ((route: Route, status: number, payload: string) => void) | undefined;
};

export type ToolCaller = (caller: Caller, call: OperationCall) => Promise<ToolOutcome>;

/** Whether a call that timed out completes is unknown. */
const OutcomeUnknown = defineError(
  'SERVICE_UNAVAILABLE',
  'The call took too long and may have taken effect. Check before you retry it.',
  'OUTCOME_UNKNOWN',
);

export function createToolCaller({ operations, timeoutMs, toFailure, inspectAnswer }: Options): ToolCaller {
  async function run(caller: Caller, { route, readInput, toolCall }: OperationCall): Promise<ToolOutcome> {
    const operation = operations.get(route)!;
    const headers: Record<string, string> = {};
    let { status } = operation;
    try {
      const principal = await caller.currentPrincipal();
      const decision = decideTool(route.access, principal, toolHints(route.method, route.tool!));
      if (!decision.allowed) throw decision.error;
      const answer = await operation.runTyped(readInput(), {
        ...caller,
        principal,
        facts: { ...caller.facts, toolCall },
        setHeader: (name, value) => void (headers[name] = value),
        setStatus: (given) => void (status = given),
      });
      const json = answer === undefined ? '' : JSON.stringify(answer);
      inspectAnswer?.(route, status, json);
      return { status, answer, json, headers };
    } catch (error) {
      return outcomeOf(toFailure(error, caller.facts.id));
    }
  }

  return (caller, call) => {
    const running = run(caller, call).then((outcome) => call.settle(outcome));
    const { method, takesLong, tool } = call.route;
    if (takesLong) return running;
    const refuse = () => {
      const { readOnly } = toolHints(method, tool!);
      const late = readOnly ? ServiceUnavailable({ retryAfterSeconds: 1 }) : OutcomeUnknown();
      return outcomeOf(toFailure(late, caller.facts.id));
    };
    return withinTime(running, Math.max(0, timeoutMs - caller.elapsedMs()), refuse);
  };
}

function outcomeOf(failure: AppError): ToolOutcome {
  return { status: failure.status, failure };
}

/** A request to the route would not be waited for any longer either. */
function withinTime<Result>(running: Promise<Result>, timeoutMs: number, refuse: () => Result): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(refuse()), timeoutMs);
    const end =
      <Value>(settle: (value: Value) => void) =>
      (value: Value) => {
        clearTimeout(timer);
        settle(value);
      };
    running.then(end(resolve), end(reject));
  });
}
