let latest = { at: Number.NaN, text: '' };

/**
 * RFC 3339 in UTC with milliseconds, where it is written with every request: under load many share one of them, and to write it
 * out takes longer than all else of a line.
 */
export function isoTime(at: number): string {
  if (at !== latest.at) latest = { at, text: new Date(at).toISOString() };
  return latest.text;
}
