import { isIP } from 'node:net';

// Databases, queues, orchestration and remote control: nothing that offers an HTTP API to strangers listens there.
const internalPorts: ReadonlySet<number> = new Set([
  1433, 1521, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 4369, 5432, 5672, 5900, 5984, 5985, 5986, 6379, 6432,
  6443, 7000, 7001, 8086, 8500, 9042, 9092, 9200, 9300, 10_250, 10_255, 11_211, 15_672, 25_672, 26_379, 27_017, 27_018,
  27_019,
]);

/** The address as it will be called; undefined when nothing at such an address is ever called. */
export function parseTarget(given: string | URL, ownPort: number): URL | undefined {
  const text = String(given);
  // The parser would silently drop some of these and let the rest through.
  if (/[\s\p{Cc}\\]/u.test(text)) return undefined;
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  if (url.username !== '' || url.password !== '' || text.includes('#')) return undefined;
  return isOpenPort(portOf(url), ownPort) ? url : undefined;
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

function isOpenPort(port: number, ownPort: number): boolean {
  if (port === 80 || port === 443) return true;
  return port >= 1024 && port !== ownPort && !internalPorts.has(port);
}

/** The IP address that stands where a name could; undefined for a name. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? undefined : bare;
}
