import type { Toolset } from '#core/http/tool';
import { UnknownToolset } from '#modules/mcp/mcp.errors';
import { defaultToolsets, toolsets } from '#modules/mcp/toolsets';

const names = Object.keys(toolsets) as Toolset[];

/**
 * The toolsets that a client asks for: several by comma, `all`, or none for those that everybody gets.
 * @throws AppError that names those that there are.
 */
export function parseToolsets(wanted: string | undefined): ReadonlySet<Toolset> {
  if (wanted === undefined) return defaultToolsets;
  const given = wanted.split(',').map((name) => name.trim().toLowerCase());
  const asked = given.filter((name) => name !== '');
  if (asked.length === 0) return defaultToolsets;
  const unknown = asked.find((name) => name !== 'all' && !isToolset(name));
  if (unknown !== undefined) throw UnknownToolset({ details: { known: ['all', ...names] } });
  return new Set(asked.includes('all') ? names : (asked as Toolset[]));
}

function isToolset(name: string): boolean {
  return Object.hasOwn(toolsets, name);
}
