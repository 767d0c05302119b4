import type { Toolset } from '#core/http/tool';
import { ToolsetUnknown } from '#modules/mcp/mcp.errors';
import { defaultToolsets, toolsets } from '#modules/mcp/toolsets';

const names = Object.keys(toolsets) as Toolset[];

/**
 * The toolsets that a client chooses: names separated by commas, `all`, or none for the default.
 * @throws AppError that lists the known toolsets.
 */
export function parseToolsets(choice: string | undefined): ReadonlySet<Toolset> {
  if (choice === undefined) return defaultToolsets;
  const given = choice.split(',').map((name) => name.trim().toLowerCase());
  const chosen = given.filter((name) => name !== '');
  if (chosen.length === 0) return defaultToolsets;
  const unknown = chosen.find((name) => name !== 'all' && !isToolset(name));
  if (unknown !== undefined) throw ToolsetUnknown({ details: { known: ['all', ...names] } });
  return new Set(chosen.includes('all') ? names : (chosen as Toolset[]));
}

function isToolset(name: string): boolean {
  return Object.hasOwn(toolsets, name);
}
