const decimal = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i;
const maxLength = 80;

/**
 * A price in plain decimal notation. A plain number stays unchanged, and an exponent is expanded without loss. Other values are
 * null: missing, negative (a variable price), or not a number.
 */
export function toPrice(received: unknown): string | null {
  if (typeof received !== 'string' || received.length > maxLength) return null;
  const [, whole, fraction = '', exponent] = decimal.exec(received) ?? [];
  if (whole === undefined) return null;
  const price = exponent === undefined ? received : shifted(whole, fraction, Number(exponent));
  return price.length > maxLength ? null : price;
}

function shifted(whole: string, fraction: string, by: number): string {
  const digits = whole + fraction;
  const point = whole.length + by;
  const padded = point < 1 ? digits.padStart(digits.length + 1 - point, '0') : digits.padEnd(point, '0');
  const at = Math.max(point, 1);
  const [before, after] = [padded.slice(0, at).replace(/^0+(?=\d)/, ''), padded.slice(at)];
  return after === '' ? before : `${before}.${after}`;
}
