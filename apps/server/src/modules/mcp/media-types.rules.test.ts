import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { acceptsMediaType, preferredMediaType } from '#modules/mcp/media-types.rules';

const offered = ['application/json', 'text/html', 'text/markdown'] as const;
const chrome = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

describe('preferredMediaType', () => {
  it.each([
    [undefined, 'application/json'],
    ['', 'application/json'],
    ['*/*', 'application/json'],
    ['application/json', 'application/json'],
    ['text/html', 'text/html'],
    ['TEXT/HTML', 'text/html'],
    ['text/markdown', 'text/markdown'],
    [chrome, 'text/html'],
    ['application/json, text/plain, */*', 'application/json'],
    ['text/*', 'text/html'],
    ['*/*, text/markdown', 'text/markdown'],
    ['text/html, text/markdown', 'text/html'],
    ['text/markdown, text/html', 'text/markdown'],
    ['text/html;q=0.5, text/markdown', 'text/markdown'],
    ['text/html;q=0.501,text/markdown;q=0.502', 'text/markdown'],
    ['text/html;Q=0.1, application/json;q=0.2', 'application/json'],
    ['text/html ; q=0.1 , text/markdown\t;\tq=0.05', 'text/html'],
    ['text/html; charset=utf-8', 'text/html'],
    ['text/html; charset="utf-8"; q=0.1, text/markdown; q=0.2', 'text/markdown'],
    // The most exact range decides, even against a wider one with more weight.
    ['text/*, text/html;q=0', 'text/markdown'],
    ['*/*, application/json;q=0', 'text/html'],
    ['text/*;q=0.9, text/markdown;q=0.3, application/json;q=0.5', 'text/html'],
    ['text/html;q=0', 'application/json'],
    ['image/png', 'application/json'],
    // Malformed ranges are ignored, well-formed ones next to them count.
    ['text/html;q=2, text/markdown;q=0.1', 'text/markdown'],
    ['text/html;q=, text/markdown;q=0.1', 'text/markdown'],
    ['text/html;q=0.1234, text/markdown;q=0.1', 'text/markdown'],
    ['texthtml, text / html, /, ;q=1, ,', 'application/json'],
  ])('%j: %s', (header, type) => {
    expect(preferredMediaType(header, offered)).toBe(type);
  });

  it('reads the first 50 and no more', () => {
    const many = (count: number) => `${'image/png,'.repeat(count)}text/html`;
    expect(preferredMediaType(many(49), offered)).toBe('text/html');
    expect(preferredMediaType(many(50), offered)).toBe('application/json');
  });

  it('returns one of the offered types for any text', () => {
    fc.assert(fc.property(fc.string(), (header) => offered.includes(preferredMediaType(header, offered))));
  });
});

describe('acceptsMediaType', () => {
  it.each([undefined, '*/*', 'application/json', 'text/html, application/*;q=0.1', 'APPLICATION/JSON; charset=utf-8'])(
    'yes: %s',
    (accept) => {
      expect(acceptsMediaType(accept, 'application/json')).toBe(true);
    },
  );

  it.each([
    '',
    'text/html',
    'application/json;q=0',
    'application/json; q=0.000',
    'application/jsonl',
    'application/json;q=0, */*',
    '*/*, application/*;q=0',
  ])('no: %j', (accept) => {
    expect(acceptsMediaType(accept, 'application/json')).toBe(false);
  });
});
