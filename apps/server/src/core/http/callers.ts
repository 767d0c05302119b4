import type { FastifyReply, FastifyRequest } from 'fastify';

import type { Abandonment } from '#core/http/abandonment';
import { summarizeError } from '#core/http/error-body';
import { assertKeepsPermissions, identifyAgain, isStillIdentified, type Identification } from '#core/http/identify';
import type { Caller } from '#core/http/operation';
import type { Route } from '#core/http/route';
import type { ToolCaller } from '#core/http/tool-calls';
import { uploadOf, type UploadLimits } from '#core/http/uploads';

type Options = UploadLimits & {
  identification: Identification;
  callTool: ToolCaller;
  abandonment: Abandonment;
  /** Aborted when the process will not wait for uploads any longer. */
  ending: AbortSignal;
};

export type CallerOf = (request: FastifyRequest, reply: FastifyReply, route: Route) => Caller;

/** Makes the caller of an operation out of a request for its route. */
export function createCallers({ identification: options, callTool, abandonment, ...times }: Options): CallerOf {
  return (request, reply, route) => {
    const rules = { rule: route.access, options };
    const assertPermitted = () => assertKeepsPermissions(request, rules);
    const caller: Caller = {
      principal: request.principal,
      facts: request.facts!,
      headers: request.headers,
      upload: route.schema.upload === undefined ? undefined : uploadOf(request, { ...times, assertPermitted }),
      setHeader: (name, value) => void reply.header(name, value),
      setStatus: (status) => void reply.status(status),
      untilAbandoned: () => abandonment(reply),
      elapsedMs: () => reply.elapsedTime,
      async currentPrincipal() {
        if (!isStillIdentified(request, reply.elapsedTime, options)) await identifyAgain(request, rules);
        return request.principal;
      },
      callTool: async (call) => {
        const outcome = await callTool(caller, call);
        const { status, failure } = outcome;
        const { route: called, toolCall } = call;
        request.called = { route: called, status, failure: failure && summarizeError(failure), toolCall };
        return outcome;
      },
    };
    return caller;
  };
}
