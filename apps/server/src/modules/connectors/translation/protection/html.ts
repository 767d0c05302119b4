import { Parser, Tokenizer, type TokenizerCallbacks } from 'htmlparser2';

/** A part of HTML text. */
export type HtmlItem =
  /** Readable text with decoded entities. */
  | { kind: 'text'; text: string }
  /** A tag within a line of text. */
  | { kind: 'open' | 'close'; name: string; raw: string }
  /** Within a line, but not translated: a comment, an entity other than a letter, code. */
  | { kind: 'mark'; raw: string }
  /** Ends a line: a tag of a paragraph or a table, a script with its content. */
  | { kind: 'boundary'; raw: string };

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));
const inline = words(
  'a abbr acronym b bdi bdo big cite code del dfn em font i img ins kbd label mark q s samp small span strike strong sub sup time tt u var wbr',
);
const empty = words('area base br col embed hr img input link meta source track wbr');
const untranslated = words(
  'applet audio canvas code embed iframe kbd math noembed noframes noscript object picture samp script style svg template textarea var video xmp plaintext',
);
const refusal =
  /\stranslate\s*=\s*["']?no\b|\sclass\s*=\s*(?:"[^"]*\bnotranslate\b|'[^']*\bnotranslate\b|notranslate\b)/i;
// Letters, and the marks that stand within words and sentences.
const readable = /^[\p{L}\p{M}\p{N}\p{Pd}\p{Pi}\p{Pf}&<>"'.,;:!?()/…]+$/u;

/** Start of a token in the text; `said` is its text, or the name of its tag. */
type Event = { kind: 'text' | 'entity' | 'open' | 'close' | 'other'; start: number; said: string };

export function readHtml(html: string): HtmlItem[] {
  const events = eventsOf(html);
  const rawOf = (from: number, to: number) => html.slice(events[from]!.start, events[to]?.start ?? html.length);
  const items: HtmlItem[] = [];
  for (let index = 0; index < events.length;) {
    const end = isRefused(events[index]!, rawOf(index, index + 1)) ? endOfElement(events, index) : index + 1;
    items.push(toItem(events[index]!, rawOf(index, end), end - index > 1));
    index = end;
  }
  return items;
}

/** Whether both have the same tags, nesting and attributes; siblings may have another order. */
export function isSameStructure(one: string, other: string): boolean {
  const known = new Map<string, number>();
  const [first, second] = [elementsOf(one, known), elementsOf(other, known)];
  return first.size === second.size && [...first].every(([element, count]) => second.get(element) === count);
}

function toItem({ kind, said }: Event, raw: string, isWhole: boolean): HtmlItem {
  if (kind === 'text' || (kind === 'entity' && readable.test(said))) return { kind: 'text', text: said };
  if (kind === 'entity') return { kind: 'mark', raw };
  if (kind === 'other') return { kind: raw.startsWith('<!--') ? 'mark' : 'boundary', raw };
  if (!inline.has(said)) return { kind: 'boundary', raw };
  return isWhole || empty.has(said) ? { kind: 'mark', raw } : { kind, name: said, raw };
}

function isRefused({ kind, said }: Event, raw: string): boolean {
  return kind === 'open' && !empty.has(said) && (untranslated.has(said) || refusal.test(raw));
}

/** The index behind the tag that closes the element, or behind everything. */
function endOfElement(events: readonly Event[], start: number): number {
  const name = events[start]!.said;
  let depth = 0;
  for (let index = start; index < events.length; index++) {
    const { kind, said } = events[index]!;
    if ((kind !== 'open' && kind !== 'close') || said !== name) continue;
    depth += kind === 'open' ? 1 : -1;
    if (depth === 0) return index + 1;
  }
  return events.length;
}

/** All tokens in order. Each extends to the start of the next, so that no text is lost. */
function eventsOf(html: string): Event[] {
  const events: Event[] = [];
  let next = 0;
  const add = (kind: Event['kind'], said: string, end: number) => {
    if (end <= next) return;
    events.push({ kind, said, start: next });
    next = end;
  };
  const fillTo = (start: number) => add('other', '', start);
  let name = '';
  const nothing = () => undefined;
  const other = (_start: number, end: number) => add('other', '', end + 1);
  const opened = (end: number) => add('open', name, end + 1);
  const callbacks: TokenizerCallbacks = {
    ontext: (start, end) => {
      fillTo(start);
      add('text', html.slice(start, end), end);
    },
    ontextentity: (codepoint, end) => {
      const last = events.at(-1);
      // An entity may stand for two characters, which the tokenizer reports one by one.
      if (end <= next && last?.kind === 'entity') last.said += String.fromCodePoint(codepoint);
      else add('entity', String.fromCodePoint(codepoint), end);
    },
    onopentagname: (start, end) => {
      fillTo(start - 1);
      name = html.slice(start, end).toLowerCase();
    },
    onopentagend: opened,
    onselfclosingtag: opened,
    onclosetag: (start, end) => {
      const last = html.indexOf('>', end);
      add('close', html.slice(start, end).toLowerCase(), last === -1 ? html.length : last + 1);
    },
    oncomment: other,
    oncdata: other,
    ondeclaration: other,
    onprocessinginstruction: other,
    onattribdata: nothing,
    onattribentity: nothing,
    onattribend: nothing,
    onattribname: nothing,
    onend: nothing,
  };
  const tokenizer = new Tokenizer({}, callbacks);
  tokenizer.write(html);
  tokenizer.end();
  fillTo(html.length);
  return events;
}

/** How often there is which element below which, by numbers that both texts share. */
function elementsOf(html: string, known: Map<string, number>): Map<number, number> {
  const counts = new Map<number, number>();
  const path = [0];
  const count = (...element: unknown[]): number => {
    const key = JSON.stringify([path.at(-1), ...element]);
    const number = known.get(key) ?? known.size + 1;
    known.set(key, number);
    counts.set(number, (counts.get(number) ?? 0) + 1);
    return number;
  };
  const parser = new Parser({
    onopentag: (name, attributes) => void path.push(count(name, Object.entries(attributes))),
    onclosetag: () => void path.pop(),
    oncomment: (text) => void count('!--', text),
    onprocessinginstruction: (name, text) => void count(name, text),
  });
  parser.end(html);
  return counts;
}
