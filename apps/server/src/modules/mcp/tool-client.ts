import type { ToolClient } from '#core/base/access/principal';

const limits = { name: 100, version: 40 };

/** Name and version of a client for the audit trail: short and on one line; null if it sends no readable name. */
export function toToolClient(info: unknown): ToolClient | null {
  const { name, version } = (info ?? {}) as { name?: unknown; version?: unknown };
  const short = cleanName(name);
  return short === '' ? null : { name: short, version: clean(version, limits.version) };
}

/** A name from a client for the audit trail; empty if nothing of it is readable. */
export function cleanName(name: unknown): string {
  return clean(name, limits.name);
}

/** The first product of a User-Agent (RFC 9110 section 10.1.5): older clients name themselves only once, and no state is kept. */
export function productOf(userAgent: string | null): { name: string; version: string } | undefined {
  const [, name, version = ''] = /^\s*([^\s/]+)(?:\/(\S*))?/.exec(userAgent ?? '') ?? [];
  return name === undefined ? undefined : { name, version };
}

const plain = /^[!-~]+$/;

function clean(text: unknown, maxLength: number): string {
  if (typeof text !== 'string') return '';
  if (text.length <= maxLength && plain.test(text)) return text;
  // Cut first, because a stranger chooses the length.
  const short = text
    .slice(0, 4 * maxLength)
    .toWellFormed()
    .replaceAll(/[\p{C}\p{Z}\s]+/gu, ' ')
    .trim();
  return Array.from(short).slice(0, maxLength).join('');
}
