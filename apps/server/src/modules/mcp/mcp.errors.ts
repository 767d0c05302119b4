import { defineError } from '#core/base/errors/app-error';
import { toolsets } from '#modules/mcp/toolsets';

export const ToolsetUnknown = defineError(
  'BAD_REQUEST',
  `The toolset is unknown. Use one of: all, ${Object.keys(toolsets).join(', ')}.`,
  'TOOLSET_UNKNOWN',
);
export const OriginRefused = defineError(
  'AUTHORIZATION_ERROR',
  'This origin is not allowed. The operator can add it to CORS_ORIGINS.',
  'ORIGIN_REFUSED',
);
export const ArgumentUnknown = defineError(
  'VALIDATION_ERROR',
  'The argument is unknown. See the input schema of the tool.',
);
