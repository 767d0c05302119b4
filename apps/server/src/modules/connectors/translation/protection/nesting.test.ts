import { describe, expect, it } from 'vitest';

import { takeApart } from '#modules/connectors/translation/protection/layout';
import { isSegment, type Piece } from '#modules/connectors/translation/protection/pieces.rules';
import { placeholdersIn } from '#modules/connectors/translation/protection/placeholders.rules';

/** The same sequence in each run. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor(state / 65_536) % below;
  };
}

function textsOf(parts: readonly string[], count: number): string[] {
  const random = randomOf(7);
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + random(14) }, () => parts[random(parts.length)]!).join(''),
  );
}

/** From each start, the text up to the brace that closes it; found by counting from there. */
function messagesIn(text: string): string[] {
  const found: string[] = [];
  for (let start = 0; start < text.length; start++) {
    if (!text.startsWith('{n,plural', start)) continue;
    let depth = 0;
    for (let at = start; at < Math.min(text.length, start + 4000); at++) {
      if (text[at] === '{') depth += 1;
      if (text[at] === '}') depth -= 1;
      if (depth > 0) continue;
      found.push(text.slice(start, at + 1));
      start = at;
      break;
    }
  }
  return found;
}

describe('messages', () => {
  const texts = textsOf(['{n,plural', '{n,plural, other', ' {one word ', '}', ' word '], 400);

  it('end at the brace that closes them, among nested, unclosed and stray braces', () => {
    const kept = texts.map((text) => placeholdersIn(text).filter((one) => one.startsWith('{n,')));
    expect(kept).toEqual(texts.map(messagesIn));
    expect(kept.flat().length).toBeGreaterThan(100);
  });

  it('may have 4,000 characters', () => {
    const message = (length: number) => `{n,plural${' '.repeat(length - 10)}}`;
    expect([4000, 4001].map((length) => placeholdersIn(`x ${message(length)} y`).length)).toEqual([1, 0]);
  });
});

/** Openings and closings that form a pair, by comparing each closing with all open ones. */
function pairsIn(text: string): string[] {
  const open: string[] = [];
  const pairs: string[] = [];
  for (const [raw, slash, name] of text.matchAll(/<(\/?)(b|i|u)>/g)) {
    if (slash === '') open.push(name!);
    else if (open.includes(name!)) {
      open.length = open.lastIndexOf(name!);
      if (open.length < 32) pairs.push(raw);
    }
  }
  return pairs;
}

const closings = (pieces: readonly Piece[]) =>
  pieces.flatMap((piece) => (typeof piece !== 'string' && piece.kind === 'close' ? [piece.raw] : []));

describe('tags', () => {
  const piecesOf = (text: string) => takeApart(`x ${text} x`, { isHtml: true }).filter(isSegment).flat();

  it('belong to the last open one of their name, and close those within', () => {
    const texts = textsOf(['<b>', '<i>', '<u>', '</b>', '</i>', '</u>', 'word'], 400);
    const found = texts.map((text) => closings(piecesOf(text)));
    expect(found).toEqual(texts.map(pairsIn));
    expect(found.flat().length).toBeGreaterThan(100);
  });

  it('belong to nothing below a depth of 32', () => {
    const text = `${'<b>'.repeat(40)}x${'</b>'.repeat(40)}`;
    expect(closings(piecesOf(text))).toHaveLength(32);
  });
});
