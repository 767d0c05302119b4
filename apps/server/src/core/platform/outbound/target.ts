import { isIP } from 'node:net';

// Databases, queues, orchestration and remote control: nothing that offers an HTTP API to strangers listens there.
const internalPorts: ReadonlySet<number> = new Set([
  1433, 1521, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 4369, 5432, 5672, 5900, 5984, 5985, 5986, 6379, 6432,
  6443, 7000, 7001, 8086, 8500, 9042, 9092, 9200, 9300, 10_250, 10_255, 11_211, 15_672, 25_672, 26_379, 27_017, 27_018,
  27_019,
]);

// Open to mail and closed to HTTP, whose requests a mail server could be made to read as commands.
const mailPorts: ReadonlySet<number> = new Set([25, 465, 587, 2525]);

/** The address as it will be called; undefined when nothing at such an address is ever called. */
export function parseTarget(given: string | URL, ownPort: number): URL | undefined {
  const url = parsePlain(String(given));
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  return isWebPort(portOf(url), ownPort) ? url : undefined;
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

export type MailTarget = { host: string; port: number; tls: boolean };

/** Where `smtp://host:port` and `smtps://host:port` lead; undefined for everything else. */
export function mailTargetOf(given: string | URL): MailTarget | undefined {
  const url = parsePlain(String(given));
  if (url === undefined || !isMailScheme(url.protocol) || !/^\/?$/.test(url.pathname + url.search)) return undefined;
  // The parser knows the ways to write an address only where it knows the scheme.
  const hostname = URL.parse(`http://${url.hostname}/`)?.hostname;
  if (hostname === undefined) return undefined;
  return { host: literalAddress(hostname) ?? hostname, port: mailPortOf(url), tls: url.protocol === 'smtps:' };
}

function isMailScheme(protocol: string): boolean {
  return protocol === 'smtp:' || protocol === 'smtps:';
}

function mailPortOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'smtps:' ? 465 : 587;
}

/** Neither credentials nor a fragment, and nothing that the parser would silently drop. */
function parsePlain(text: string): URL | undefined {
  if (/[\s\p{Cc}\\]/u.test(text) || text.includes('#')) return undefined;
  const url = URL.parse(text);
  return url === null || url.username !== '' || url.password !== '' ? undefined : url;
}

function isWebPort(port: number, ownPort: number): boolean {
  return port === 80 || port === 443 || (isHighPort(port, ownPort) && !mailPorts.has(port));
}

/** Those of mail, and those above 1023 that nothing internal is known to use. */
export function isMailPort(port: number, ownPort: number): boolean {
  return (mailPorts.has(port) && port !== ownPort) || isHighPort(port, ownPort);
}

function isHighPort(port: number, ownPort: number): boolean {
  return port >= 1024 && port <= 65_535 && port !== ownPort && !internalPorts.has(port);
}

/** The IP address that stands where a name could; undefined for a name. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? undefined : bare;
}
