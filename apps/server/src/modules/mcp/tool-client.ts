import type { ToolClient } from '#core/access/principal';

const limits = { name: 100, version: 40 };

/** What a client calls itself, fit for the trail: short and of one line. Null where it says nothing that can be read. */
export function toToolClient(said: unknown): ToolClient | null {
  const { name, version } = (said ?? {}) as { name?: unknown; version?: unknown };
  const short = cleanName(name);
  return short === '' ? null : { name: short, version: clean(version, limits.version) };
}

/** A name that a client gives to something, fit for the trail; empty where nothing of it can be read. */
export function cleanName(name: unknown): string {
  return clean(name, limits.name);
}

/** The first product of a User-Agent (RFC 9110 section 10.1.5): clients of 2025 say only once who they are, which is not kept. */
export function productOf(userAgent: string | null): { name: string; version: string } | undefined {
  const [, name, version = ''] = /^\s*([^\s/]+)(?:\/(\S*))?/.exec(userAgent ?? '') ?? [];
  return name === undefined ? undefined : { name, version };
}

const plain = /^[!-~]+$/;

function clean(text: unknown, maxLength: number): string {
  if (typeof text !== 'string') return '';
  if (text.length <= maxLength && plain.test(text)) return text;
  // Cut first: a stranger decides how long it is.
  const short = text
    .slice(0, 4 * maxLength)
    .toWellFormed()
    .replaceAll(/[\p{C}\p{Z}\s]+/gu, ' ')
    .trim();
  return Array.from(short).slice(0, maxLength).join('');
}
