/** One record (RFC 4180), every field quoted, none of which a spreadsheet takes for a formula. */
export function csvLine(fields: readonly string[]): string {
  return `${fields.map((field) => `"${disarm(field).replaceAll('"', '""')}"`).join(',')}\r\n`;
}

/** The same of values of any kind: texts as they are, null as nothing, all else as JSON. */
export function csvRecord(values: readonly unknown[]): string {
  return csvLine(
    values.map((value) => (typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value))),
  );
}

// Spreadsheets run what begins like a formula, behind spaces and in fullwidth signs too (ASVS 1.2.10).
function disarm(field: string): string {
  const text = field.replaceAll('\0', '');
  return /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/u.test(text) ? `'${text}` : text;
}
