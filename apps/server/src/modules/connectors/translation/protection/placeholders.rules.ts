// All quantifiers are bounded, so that the time grows only linearly with the length of the text.
const patterns = [
  // Addresses in ASCII, without the punctuation of the sentence around them.
  String.raw`(?<![A-Za-z0-9])(?:[Hh][Tt][Tt][Pp][Ss]?|[Ff][Tt][Pp]):\/\/[!#-;=?-~]{0,2000}[\w/#=&%+$~-]`,
  String.raw`(?<![A-Za-z0-9])[Ww]{3}\.[!#-;=?-~]{0,2000}[\w/#=&%+$~-]`,
  String.raw`(?<![\w.+-])(?:mailto:)?[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}`,
  String.raw`(?<![\p{L}\p{N}:/])\/\/[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}(?:[/?#:](?:[!#-;=?-~]{0,2000}[\w/#=&%+$~-])?)?`,
  // Scripts and data in the place of an address, but not "JavaScript: an introduction" or "Data: 2026".
  String.raw`(?<![\p{L}\p{N}_])(?:[Jj][Aa][Vv][Aa]|[Vv][Bb])[Ss][Cc][Rr][Ii][Pp][Tt]:(?:[!#-;=?-~]|\s{1,8}[\w.$]{1,64}[(=])[!#-;=?-~]{0,2000}`,
  String.raw`(?<![\p{L}\p{N}_])[Dd][Aa][Tt][Aa]:[\w.+-]{1,64}\/[\w.+-]{1,64}[;,][!#-;=?-~]{0,2000}`,
  // Templates: {{x}}, {{{x}}}, {% x %}, <%= x %>, ${x}, #{x}, %{x}, %(x)s.
  String.raw`\{{2,3}[^{}]{0,500}\}{2,3}`,
  String.raw`\{%[^{}]{0,500}%\}`,
  String.raw`<%[^%]{0,500}%>`,
  String.raw`[$#%]\{[^{}]{1,500}\}`,
  String.raw`%\([\w.]{1,64}\)[a-z]`,
  String.raw`(?<icu>\{\s{0,8}[\w.]{1,64}\s{0,8},\s{0,8}(?:plural|selectordinal|select|number|date|time|choice)\b)`,
  String.raw`\{\s{0,8}[\w.$-]{0,64}\s{0,8}\}`,
  String.raw`\{\d{1,2}(?:,-?\d{1,3})?(?::[^{}]{1,64})?\}`,
  // printf, but neither "50%discount" and "50 %-os" nor "%50en", which are prices and parts in some languages.
  String.raw`(?<![\d%])%(?!-\p{L}|\d{1,3}\p{L}{2})(?:\d{1,2}\$)?[-+0#]{0,3}\d{0,3}(?:\.\d{1,3})?(?:hh|ll|[hlLqjzt])?[sdifuxXoeEgGcp@](?!\p{L}{2})`,
  String.raw`%%`,
  // :name, but neither "10:30" and "note:this" nor the endings that some languages put behind a symbol: "50 %:sta".
  String.raw`(?<![\p{L}\p{N}_:/]):(?!(?<=[\p{S}%‰)}\]"'’”»]:)[a-z]{1,5}(?![\w:]))[a-z][a-z0-9_]{1,64}(?::|\b)`,
  // What looks like a marker of ours, and characters that no format carries.
  String.raw`<\/?[gxGX](?=[\s/>])[^<>]{0,500}>`,
  String.raw`(?![\t\n\r])\p{Cc}|[\ufffd\ufffe\uffff]|\p{Cs}`,
];

const maxMessageLength = 4000;

/** Texts, separated by protected parts. */
export type Run = string | { kept: string };

/** @param also what has to be kept besides */
export function splitAtPlaceholders(text: string, also?: RegExp): Run[] {
  const pattern = patternWith(also);
  pattern.lastIndex = 0;
  const runs: Run[] = [];
  let end = 0;
  let messageEnds: ReadonlyMap<number, number> | undefined;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const { index } = match;
    let next: number | undefined = pattern.lastIndex;
    if (match.groups?.['icu'] !== undefined) {
      messageEnds ??= endsOfMessages(text);
      next = messageEnds.get(index);
    }
    // A brace that never closes is text.
    pattern.lastIndex = next ?? index + 1;
    if (next === undefined) continue;
    if (index > end) runs.push(text.slice(end, index));
    runs.push({ kept: text.slice(index, next) });
    end = next;
  }
  if (end < text.length) runs.push(text.slice(end));
  return runs;
}

const plain = new RegExp(patterns.join('|'), 'gu');
const extended = new WeakMap<RegExp, RegExp>();

/** Made once: a text of many tags is split once per piece. */
function patternWith(also: RegExp | undefined): RegExp {
  if (also === undefined) return plain;
  const known = extended.get(also) ?? new RegExp([...patterns, also.source].join('|'), 'gu');
  extended.set(also, known);
  return known;
}

/** Protected parts of a text, in order. */
export function placeholdersIn(text: string): string[] {
  return splitAtPlaceholders(text).flatMap((run) => (typeof run === 'string' ? [] : [run.kept]));
}

/** The end of each group in braces that is short enough for an ICU message, by its start; found in one pass over the text. */
function endsOfMessages(text: string): Map<number, number> {
  const ends = new Map<number, number>();
  const open: number[] = [];
  for (const { 0: brace, index } of text.matchAll(/[{}]/g)) {
    if (brace === '{') {
      open.push(index);
      continue;
    }
    const start = open.pop();
    if (start !== undefined && index - start < maxMessageLength) ends.set(start, index + 1);
  }
  return ends;
}
