/** Bodies of a denial-of-service attack: one text per shape, each as large as a body may be. */
export type HostileText = { name: string; text: string };

const limitBytes = 1_048_576;
/** As many as the service takes. */
const maxValues = 49_990;
const maxProperties = 2000;

/** The same items, as many as fit. */
function list(item: string, max = Infinity): string {
  const count = Math.min(max, Math.floor((limitBytes - 2) / (item.length + 1)));
  return `[${Array.from({ length: count }, () => item).join(',')}]`;
}

/** As many items as are taken, each as long as they can be. */
function longest(begin: string, filling: string, end: string, count = maxValues): string {
  const room = Math.floor((limitBytes - 2) / count) - begin.length - end.length - 1;
  return list(begin + filling.repeat(Math.max(0, Math.floor(room / filling.length))) + end, count);
}

function object(count: number, keyOf: (at: number) => string): string {
  return `{${Array.from({ length: count }, (_, at) => `"${keyOf(at)}":1`).join(',')}}`;
}

const blanks = (text: string) => text.slice(0, -1) + ' '.repeat(limitBytes - text.length) + text.slice(-1);

/** Shapes that some step of reading a body might be slow with, refused and taken ones. */
export function hostileBodies(): HostileText[] {
  const half = limitBytes / 2;
  return [
    { name: 'numbers', text: list('1') },
    { name: 'one inexact integer', text: list('1').replace(/1\]$/, '9007199254740993]') },
    {
      name: 'one inexact integer at the end of what is taken',
      text: blanks(list('1', maxValues)).replace(' ]', ',9007199254740993]'),
    },
    { name: 'exact large integers', text: list('9223372036854774784', maxValues) },
    { name: 'numbers at the middle between two doubles', text: list('9007199254740993.0', maxValues) },
    { name: 'fractions of many digits', text: longest('0.', '123456789', '', 1000) },
    { name: 'numbers close to the largest', text: list('1.7976931348623157e308', 45_000) },
    { name: 'one number of a megabyte', text: `[${'9'.repeat(limitBytes - 2)}]` },
    { name: 'nested lists', text: '['.repeat(half) + ']'.repeat(half) },
    { name: 'lists that never end', text: '['.repeat(limitBytes) },
    { name: 'nested objects', text: `${'{"a":'.repeat(170_000)}1${'}'.repeat(170_000)}` },
    { name: 'empty objects', text: blanks(list('{}', maxValues)) },
    { name: 'keys', text: object(80_000, (at) => `k${at}`) },
    { name: 'keys as many as are taken', text: object(maxProperties, (at) => `${'k'.repeat(500)}${at}`) },
    { name: 'keys that are numbers', text: blanks(object(maxProperties, (at) => String((at * 7919) % 1_000_003))) },
    { name: 'forbidden names in texts', text: longest('"', '__proto__ ', '"') },
    { name: 'escapes', text: `"${String.raw`\u0041`.repeat(174_000)}"` },
    { name: 'escaped texts', text: list(String.raw`"\u0041\u0042x"`, maxValues) },
    { name: 'surrogate pairs', text: `"${String.raw`\ud83d\ude00`.repeat(87_000)}"` },
    { name: 'backslashes', text: `"${'\\\\'.repeat(half - 2)}"` },
    { name: 'characters of four bytes', text: `"${'\u{1f600}'.repeat(260_000)}"` },
    { name: 'texts', text: longest('"', 'x', '"') },
    { name: 'a text that never ends', text: `"${'x'.repeat(limitBytes - 1)}` },
    { name: 'quotes', text: '"'.repeat(limitBytes) },
    { name: 'blanks', text: ' '.repeat(limitBytes) },
  ];
}
