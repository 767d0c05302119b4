import { defineError } from '#core/errors/app-error';
import { toolsets } from '#modules/mcp/toolsets';

export const UnknownToolset = defineError(
  'BAD_REQUEST',
  `There is no such toolset. Known are: all, ${Object.keys(toolsets).join(', ')}.`,
  'UNKNOWN_TOOLSET',
);
export const OriginRefused = defineError(
  'AUTHORIZATION_ERROR',
  'Pages of this origin may not call here. The operator can allow it in CORS_ORIGINS.',
  'ORIGIN_REFUSED',
);
export const UnknownArgument = defineError('VALIDATION_ERROR', 'The tool has no such argument.');
