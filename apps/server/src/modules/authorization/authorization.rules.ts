type Endpoint = { method: string; path: string };

/** The operation that the router would choose for a request: a literal path segment wins over a parameter. */
export function operationAt<Route extends Endpoint>(
  routes: readonly Route[],
  { method, path }: Endpoint,
): Route | undefined {
  const steps = stepsOf(path);
  const [best] = routes
    .filter((route) => route.method === method && fits(stepsOf(route.path), steps))
    .toSorted((left, right) => (generality(left) < generality(right) ? -1 : 1));
  return best;
}

function stepsOf(path: string): string[] {
  return path
    .replace(/[?#].*$/s, '')
    .replace(/\/$/, '')
    .split('/');
}

function fits(pattern: readonly string[], steps: readonly string[]): boolean {
  if (pattern.length !== steps.length) return false;
  return pattern.every((part, at) => part === steps[at] || (isParameter(part) && steps[at] !== ''));
}

/** Sort key of a path: later parameters sort before earlier ones. */
function generality({ path }: Endpoint): string {
  return stepsOf(path)
    .map((part) => (isParameter(part) ? '1' : '0'))
    .join('');
}

function isParameter(part: string): boolean {
  return part.startsWith('{');
}
