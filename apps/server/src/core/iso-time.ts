let latest = { at: Number.NaN, text: '' };

/** RFC 3339 in UTC with milliseconds. Under load many things happen in one of them, and to write it out takes long. */
export function isoTime(at: number): string {
  if (at !== latest.at) latest = { at, text: new Date(at).toISOString() };
  return latest.text;
}
