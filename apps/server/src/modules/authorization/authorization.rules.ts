type Place = { method: string; path: string };

/** The operation that the router would choose for a request: a fixed text in the path wins over a parameter. */
export function operationAt<Route extends Place>(routes: readonly Route[], { method, path }: Place): Route | undefined {
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

/** Sorts paths that have their parameters later before those that have them earlier. */
function generality({ path }: Place): string {
  return stepsOf(path)
    .map((part) => (isParameter(part) ? '1' : '0'))
    .join('');
}

function isParameter(part: string): boolean {
  return part.startsWith('{');
}
