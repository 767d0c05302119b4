import { AppError } from '#core/base/errors/app-error';
import { isStorableText } from '#core/http/json';

const maxFields = 50;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses `application/x-www-form-urlencoded` (WHATWG URL section 5.1). An empty body yields undefined.
 * @throws AppError VALIDATION_ERROR for an ambiguous text, including a duplicate name.
 */
export function parseForm(bytes: Buffer): Readonly<Record<string, string>> | undefined {
  if (bytes.length === 0) return undefined;
  const fields = [...new URLSearchParams(decode(bytes))];
  if (fields.length > maxFields) throw badForm(`The form has more than ${maxFields} fields.`);
  if (new Set(fields.map(([name]) => name)).size < fields.length) throw badForm('The form has a field twice.');
  if (!fields.flat().every(isStorableText)) throw badForm('The form has a NUL character or broken Unicode in it.');
  return Object.fromEntries(fields);
}

// URLSearchParams would take what is wrongly encoded for literal text.
function decode(bytes: Buffer): string {
  try {
    const text = utf8.decode(bytes);
    decodeURIComponent(text);
    return text;
  } catch {
    throw badForm('The form is not valid UTF-8 in percent-encoding.');
  }
}

function badForm(message: string): AppError {
  return new AppError('VALIDATION_ERROR', message);
}
