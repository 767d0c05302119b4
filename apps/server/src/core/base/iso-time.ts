let latest = { at: Number.NaN, text: '' };

/** RFC 3339 in UTC with milliseconds, for what is written with every request: under load many share a millisecond. */
export function isoTime(at: number): string {
  if (at !== latest.at) latest = { at, text: new Date(at).toISOString() };
  return latest.text;
}
