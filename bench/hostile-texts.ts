import type { HostileText } from './hostile-bodies.ts';

/** The length limit of a text to translate. */
const limitCharacters = 10_000;

const filled = (part: string) => part.repeat(Math.floor(limitCharacters / part.length));
const nested = (open: string, close: string) => {
  const depth = Math.floor(limitCharacters / (open.length + close.length));
  return open.repeat(depth) + close.repeat(depth);
};

/** Shapes that some step of a translation may be slow with. */
export function hostileTexts(): HostileText[] {
  return [
    { name: 'nested tags', text: nested('<b>', '</b>') },
    { name: 'nested paragraphs', text: nested('<div>', '</div>') },
    { name: 'closing tags without a pair below open ones', text: nested('<b>', '</i>') },
    { name: 'open tags and closing tags without a pair in turn', text: filled('<b></i>') },
    { name: 'open tags around words', text: filled('<b>x') },
    { name: 'pairs around words', text: filled('<b>x</b> ') },
    { name: 'unclosed elements that are not translated', text: filled('<code>') },
    { name: 'unclosed messages', text: filled('{a,plural') },
    { name: 'short unclosed messages', text: filled('{a,date') },
    { name: 'unclosed messages around words', text: filled('{a,date x ') },
    { name: 'nested messages', text: nested('{a,date', '}') },
    { name: 'unclosed templates', text: filled('{{x ') },
    { name: 'parts of addresses', text: filled('a@b.') },
    { name: 'attributes', text: `<b ${filled('a=1 ').slice(0, -20)}>x</b>` },
  ];
}
