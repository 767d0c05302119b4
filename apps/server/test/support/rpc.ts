import type { Route } from '#core/http/route';

/** The body of a refusal: where the route answers in JSON-RPC, the standard body is within its error. */
export function refusalOf({ hasRpcErrors }: Pick<Route, 'hasRpcErrors'>, body: any): any {
  if (!hasRpcErrors || body?.error?.data === undefined) return body;
  const { jsonrpc, id, error, ...rest } = body;
  const { code, message, data, ...more } = error;
  const isRpcError = jsonrpc === '2.0' && isId(id) && Number.isInteger(code) && message === data.message;
  return isRpcError && Object.keys({ ...rest, ...more }).length === 0 ? data : body;
}

function isId(id: unknown): boolean {
  return id === null || typeof id === 'string' || Number.isInteger(id);
}
