import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { isSameStructure } from '#modules/connectors/translation/protection/html';
import { atItsMarkers, takeApart, trim } from '#modules/connectors/translation/protection/layout';
import { cutToFit, pack } from '#modules/connectors/translation/protection/lengths.rules';
import { read, write } from '#modules/connectors/translation/protection/markers.rules';
import { isSegment, join, type Layout, type Segment } from '#modules/connectors/translation/protection/pieces.rules';
import { splitAtPlaceholders } from '#modules/connectors/translation/protection/placeholders.rules';

const wiresOf = (text: string, isHtml = false, escapes = true) =>
  takeApart(text, { isHtml })
    .filter(isSegment)
    .map((segment) => write(segment, escapes));

const rejoin = (layout: Layout, isHtml: boolean) =>
  layout.map((part) => (isSegment(part) ? join(part, isHtml) : part)).join('');

describe('splitAtPlaceholders', () => {
  it.each([
    ['Hello {{name}}, hi {{{raw}}}', ['{{name}}', '{{{raw}}}']],
    ['You have {count} of {0} and {user.name} {}', ['{count}', '{0}', '{user.name}', '{}']],
    ['{0:N2} and {1,-10}', ['{0:N2}', '{1,-10}']],
    ['{n, plural, one {# room} other {# rooms}} left', ['{n, plural, one {# room} other {# rooms}}']],
    ['{ who , select, a {{x, number} b} other {c} }!', ['{ who , select, a {{x, number} b} other {c} }']],
    [
      '%s of %1$d, %05.2f %(name)s %% %@ %{x} ${y} #{z}',
      ['%s', '%1$d', '%05.2f', '%(name)s', '%%', '%@', '%{x}', '${y}', '#{z}'],
    ],
    ['{% if x %}yes{% endif %} <%= z %>', ['{% if x %}', '{% endif %}', '<%= z %>']],
    ['See https://example.com/a?b=c&d=e.', ['https://example.com/a?b=c&d=e']],
    ['(see HTTPS://Example.com/x_y(z), www.example.org!)', ['HTTPS://Example.com/x_y(z', 'www.example.org']],
    ['请访问https://example.com/a查看', ['https://example.com/a']],
    ['Write to info@example.co.uk, or mailto:a.b+c@d.org', ['info@example.co.uk', 'mailto:a.b+c@d.org']],
    ['Dear :first_name :smile:', [':first_name', ':smile:']],
    ['See //example.com/a?b, (//example.org) //example.com', ['//example.com/a?b', '//example.org', '//example.com']],
    [
      'JavaScript:alert(1) javascript: alert(1) data:text/html,x',
      ['JavaScript:alert(1)', 'javascript: alert(1)', 'data:text/html,x'],
    ],
    ['%-20s %5d %s.', ['%-20s', '%5d', '%s']],
    ['<x id="1"/> and </g> and <G id=2>', ['<x id="1"/>', '</g>', '<G id=2>']],
    ['a\u0000b \ud800 c\ufffd', ['\u0000', '\ud800', '\ufffd']],
  ])('finds the placeholders in %j', (text, kept) => {
    const runs = splitAtPlaceholders(text).filter((run) => typeof run !== 'string');
    expect(runs.map((run) => run.kept)).toEqual(kept);
  });

  it.each([
    'A 50%discount, 100 % sure, 5 % de descuento',
    'At 10:30:45, note:this and that: so',
    'Take {this or that}, or { not',
    '{n, plural, one {never closed',
    'me@ home, @you, a < b > c, x = 3 & y',
    'No. 5, e.g. http: or www',
    'and//or, a // b, JavaScript: an introduction (2), Data: 12/05',
    '50 %-os, 50 %-ig, %50en, 50 %:sta, 5 €:n, (EU):ssa, "Atrium":lle',
  ])('finds no placeholder in prose: %j', (text) => {
    expect(splitAtPlaceholders(text)).toEqual([text]);
  });

  it('loses nothing', () => {
    const part = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('{', '}', '{{', '{n, plural,', '%', '%s', '@', 'a@b.c', 'http://', ':', '<x id="1"/>', '$', ' '),
    );
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const text = parts.join('');
        expect(
          splitAtPlaceholders(text, /[*#@]+/)
            .map((run) => (typeof run === 'string' ? run : run.kept))
            .join(''),
        ).toBe(text);
      }),
    );
  });

  it('takes time linear in the length', () => {
    for (const unit of [
      '{a,plural,',
      '{',
      'a@',
      'a.',
      '%(',
      'http://',
      '<g ',
      ':a',
      '{{',
      'w',
      '//a.',
      'data:a/',
      'javascript:',
      '@a.',
    ])
      expect(splitAtPlaceholders(unit.repeat(20_000 / unit.length)).length).toBeGreaterThan(0);
  });
});

describe('takeApart', () => {
  it.each([
    ['Hello {{name}}, you have %s rooms.', ['Hello <x id="1"/>, you have <x id="2"/> rooms.']],
    ['  One line \n\n- another\r\nthird ', ['One line', '- another', 'third']],
    ['a < b & "c"', ['a &lt; b &amp; "c"']],
    ['<b>text</b>', ['&lt;b&gt;text&lt;/b&gt;']],
    ['{{a}} {{b}}', []],
    ['12:30 – 14:00', []],
    ['', []],
  ])('plain text %j becomes %j', (text, wires) => {
    expect(wiresOf(text)).toEqual(wires);
  });

  it.each([
    ['<p>The <b>red <i>house</i></b> is big.</p>', ['The <g id="1">red <g id="2">house</g></g> is big.']],
    ['<ul><li>One</li><li><a href="/x" title="t">Two</a></li></ul>', ['One', 'Two']],
    ['One<br>two<br/>three', ['One', 'two', 'three']],
    ['<p>Caf&eacute; &amp; bar&nbsp;&copy; don&#39;t</p>', ['Café &amp; bar<x id="1"/><x id="2"/> don\'t']],
    ['&nbsp;Hello <img src="a"> you<!-- c -->', ['Hello <x id="1"/> you']],
    ['Run <code>npm <b>i</b></code> now <kbd>x</kbd>', ['Run <x id="1"/> now']],
    [
      'A <span translate="no">Brand <b>x</b></span> <i class="big notranslate">y</i> z',
      ['A <x id="1"/> <x id="2"/> z'],
    ],
    ['<script>var a = "<p>no</p>"</script><style>b{}</style>Yes', ['Yes']],
    ['<p>one<p>two</b></i> three', ['one', 'two<x id="1"/><x id="2"/> three']],
    ['<b>a <i>b</b> c</i> d', ['<g id="1">a <x id="2"/>b</g> c<x id="3"/> d']],
    ['Hi <a href="{{url}}">{{ name &amp; co }}</a>, go', ['Hi <g id="1"><x id="2"/></g>, go']],
    ['a < b and c &lt; d', ['a &lt; b and c &lt; d']],
    ['<a title="x > y">link</a> text', ['<g id="1">link</g> text']],
    ['<x-card>inside</x-card><x id="1"/>out', ['inside', 'out']],
    ['unfinished <b', ['unfinished']],
    ['<table><tr><td>a</td></table>', ['a']],
  ])('HTML %j becomes %j', (text, wires) => {
    expect(wiresOf(text, true)).toEqual(wires);
  });

  it('can be reversed without loss', () => {
    for (const text of [
      '<p>A&nbsp;<b>b</b> &copy; <!-- c --></p>\n',
      'x <img src=a> y</p>',
      '<scRipt>a</scRipt ><b>x</b >',
    ])
      expect(rejoin(takeApart(text, { isHtml: true }), true)).toBe(text);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(rejoin(takeApart(text, { isHtml: false }), false)).toBe(text);
      }),
    );
  });

  const html = fc
    .array(
      fc.oneof(
        fc.constantFrom(
          '<b>',
          '</b>',
          '<i class="a b">',
          '</i>',
          '<p>',
          '</p>',
          '<br>',
          '<br/>',
          '<img src=a alt="x>y">',
          '<a href="/?a=1&amp;b=2">',
          '</a>',
        ),
        fc.constantFrom(
          '<!-- c -->',
          '<!',
          '<?x?>',
          '<script>x<b></script>',
          '<title>',
          '</title>',
          '<svg><g/></svg>',
          '<',
          '>',
          '&',
          '&amp;',
          '&nbsp;',
          '&#233;',
          '&NotEqualTilde;',
          '<![CDATA[x]]>',
        ),
        fc.constantFrom('{{x}}', '%s', 'word ', ' two words', 'é', '日本語', '\n', '😀', 'https://a.b/?x&y'),
        fc.string({ unit: 'binary', maxLength: 5 }),
      ),
      { maxLength: 25 },
    )
    .map((parts) => parts.join(''));

  it('never changes the tags of HTML and loses no text', () => {
    fc.assert(
      fc.property(html, (text) => {
        const again = rejoin(takeApart(text, { isHtml: true }), true);
        expect(isSameStructure(text, again)).toBe(true);
        // Twice is as once: entities are written in one way.
        expect(rejoin(takeApart(again, { isHtml: true }), true)).toBe(again);
      }),
      { numRuns: 2000 },
    );
  });

  it('returns segments that are read back if the provider keeps the markers', () => {
    fc.assert(
      fc.property(html, fc.boolean(), fc.boolean(), (text, isHtml, escapes) => {
        for (const segment of takeApart(text, { isHtml }).filter(isSegment)) {
          const back = read(write(segment, escapes), segment, escapes);
          expect(back).not.toHaveProperty('problem');
          expect(join(back as Segment, isHtml)).toBe(join(segment, isHtml));
        }
      }),
      { numRuns: 2000 },
    );
  });
});

const parse = (text: string, isHtml = true): Segment => takeApart(text, { isHtml }).find(isSegment)!;

describe('read', () => {
  const source = parse('Hi {{name}}, the <b>red <i>house</i></b> of {{owner}} is <a href="/">here</a>.');

  it.each([
    'Hola <x id="1"/>, la <g id="2">casa <g id="3">roja</g></g> de <x id="4"/> está <g id="5">aquí</g>.',
    '<x id="4"/> la <g id="2"><g id="3">roja</g> casa</g> <g id="5">aquí</g>, hola <x id="1"/>.',
    'Hola <X ID=\'1\' />, la <g id=2>casa <g  id="3" >roja</g></ g> de <x id="4"></x> está <g id="5">aquí</G >.',
  ])('accepts a text with every marker once: %j', (answer) => {
    expect(read(answer, source, true)).not.toHaveProperty('problem');
  });

  it.each([
    ['a marker is missing', 'Hola, la <g id="2">casa <g id="3">roja</g></g> de <x id="4"/> está <g id="5">aquí</g>.'],
    [
      'duplicated',
      'Hola <x id="1"/><x id="1"/>, la <g id="2">casa <g id="3">roja</g></g> de <x id="4"/> está <g id="5">aquí</g>.',
    ],
    [
      'the answer adds',
      'Hola <x id="1"/>, la <g id="2">casa <g id="3">roja</g></g> de <x id="4"/> está <g id="5">aquí</g>.<x id="9"/>',
    ],
    ['the answer adds', 'Hola <x/>, la <g id="2">casa <g id="3">roja</g></g> de <x id="4"/> está <g id="5">aquí</g>.'],
    [
      'the answer adds',
      'Hola <g id="1"></g>, la <g id="2">casa <g id="3">roja</g></g> de <x id="4"/> está <g id="5">aquí</g>.',
    ],
    ['nested', 'Hola <x id="1"/>, la <g id="2">casa</g> <g id="3">roja</g> de <x id="4"/> está <g id="5">aquí</g>.'],
    ['nested', 'Hola, la <g id="2">casa <x id="1"/><g id="3">roja</g></g> de <x id="4"/> está <g id="5">aquí</g>.'],
    ['not closed', 'Hola <x id="1"/>, la <g id="2">casa <g id="3">roja</g> de <x id="4"/> está <g id="5">aquí</g>.'],
    [
      'not open',
      'Hola <x id="1"/>, la <g id="2">casa <g id="3">roja</g></g></g> de <x id="4"/> está <g id="5">aquí</g>.',
    ],
    [
      'lost its text',
      'Hola <x id="1"/>, la <g id="2">casa <g id="3"></g> roja</g> de <x id="4"/> está <g id="5">aquí</g>.',
    ],
    ['no text', '<x id="1"/> <g id="2"><g id="3">.</g></g> <x id="4"/> <g id="5"></g>'],
  ])('refuses with %s', (problem, answer) => {
    const found = read(answer, source, true) as { problem: string };
    expect(found.problem).toMatch(problem === 'no text' ? /text/ : problem);
  });

  it.each([
    ['there is no text', 'Hello there', '…'],
    ['there is no text', 'Hello there', ''],
    ['characters', 'Hello there', 'Hola\u0000'],
    ['characters', 'Hello there', 'Hola \ud83d'],
    ['characters', 'Hello there', 'Hola \ufffd'],
    ['the answer adds', 'Hello there', 'Hola <script>alert(1)</script>'],
    ['the answer adds', 'Hello there', 'Hola &lt;img src=x onerror=y&gt;'],
    ['the answer adds', 'Hello there', 'Hola {{constructor}}'],
    ['the answer adds', 'Hello there', 'Hola ${x}'],
    ['the answer adds', 'Hello there', 'Hola, ve a https://evil.example'],
  ])('refuses with %s: %j', (problem, text, answer) => {
    expect((read(answer, parse(text, false), true) as { problem: string }).problem).toMatch(problem);
  });

  it('keeps the order of tags if one of them is not closed', () => {
    const loose = parse('The <i>red <b>big house of <u>yours</u> is {{x}} here');
    const answer = (markers: [number, number]) =>
      `El <x id="${markers[0]}"/>rojo <x id="4"/> <x id="${markers[1]}"/>grande <g id="3">tuyo</g> es`;
    expect(read(answer([1, 2]), loose, true)).not.toHaveProperty('problem');
    expect(read(answer([2, 1]), loose, true)).toHaveProperty('problem', 'a marker is in another place');
  });

  it('refuses a text that is far too long or too short', () => {
    expect(read('x'.repeat(400), parse('Hello there', false), true)).toHaveProperty(
      'problem',
      expect.stringContaining('far longer'),
    );
    expect(read('no', parse('x'.repeat(2000), false), true)).toHaveProperty(
      'problem',
      expect.stringContaining('far shorter'),
    );
  });

  it('removes blanks that the provider added and keeps those of the source', () => {
    expect(read('Hola,  tú\nallí', parse('Hello you there', false), true)).toEqual(['Hola, tú allí']);
    expect(read('Hola,  tú', parse('Hello  you', false), true)).toEqual(['Hola,  tú']);
  });

  it('decodes entities in HTML only', () => {
    expect(read('a &lt; b &amp;amp; &#233;&#xE9; &#9999999;', parse('a < b &amp; &#x &#y cd', false), true)).toEqual([
      'a < b &amp; éé &#9999999;',
    ]);
    expect(read('a &lt; b', parse('a &lt; b', false), false)).toEqual(['a &lt; b']);
  });
});

describe('isSameStructure', () => {
  it.each([
    ['<p>a <b>b</b> <i>c</i></p>', '<p>x <i>y</i> <b>z</b></p>', true],
    ['<p>a</p>', '<p>a</p><p></p>', false],
    ['<b>a</b>', '<i>a</i>', false],
    ['<a href="/x">a</a>', '<a href="/y">a</a>', false],
    ['<a href="/x">a</a>', '<a href="/x" onclick="y">a</a>', false],
    ['<b>a <i>b</i></b>', '<b>a</b> <i>b</i>', false],
    ['a<br>b<br>', 'a<br>b', false],
    ['a<!-- x -->', 'a', false],
    ['a', 'a<script>b</script>', false],
  ])('%j and %j: %s', (one, other, same) => {
    expect(isSameStructure(one, other)).toBe(same);
    expect(isSameStructure(other, one)).toBe(same);
  });
});

describe('cutToFit', () => {
  const cut = (segment: Segment, maxCharacters: number) =>
    cutToFit(segment, { maxCharacters, isHtml: true, escapes: true }).flatMap((part) =>
      isSegment(part) ? trim(part, true) : [part],
    );

  it('cuts at the ends of sentences, and never between two markers of a pair', () => {
    const text = 'One {{x}} here. Two <b>is. There</b> too. And <i>this is. Far longer. Than one.</i> is.';
    const parts = cut(parse(text), 40);
    expect(parts.map((part) => (isSegment(part) ? write(part, true) : part))).toEqual([
      'One <x id="1"/> here.',
      ' ',
      'Two <g id="1">is. There</g> too.',
      ' ',
      'And',
      ' ',
      '<i>',
      'this is. Far longer. Than one.',
      '</i>',
      ' ',
      'is.',
    ]);
  });

  it('returns no part above the limit and loses no text', () => {
    const word = fc.constantFrom(
      'word ',
      'Sentence. ',
      '<b>',
      '</b>',
      '{{x}}',
      '日本語。',
      '😀',
      'a<b',
      ' ',
      'x'.repeat(50),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 200 }), fc.integer({ min: 20, max: 400 }), (words, max) => {
        const text = words.join('');
        for (const segment of takeApart(text, { isHtml: true }).filter(isSegment)) {
          const parts = cut(segment, max);
          expect(rejoin(parts, true)).toBe(join(segment, true));
          for (const part of parts.filter(isSegment)) expect(write(part, true).length).toBeLessThanOrEqual(max);
        }
      }),
    );
  });
});

it('atItsMarkers returns parts without markers', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('{{x}}', '<b>', '</b>', 'word', ' ', '.')), (words) => {
      for (const segment of takeApart(words.join(''), { isHtml: true }).filter(isSegment)) {
        const parts = atItsMarkers(segment, true);
        expect(rejoin(parts, true)).toBe(join(segment, true));
        for (const part of parts.filter(isSegment)) expect(write(part, true)).not.toMatch(/</);
      }
    }),
  );
});

describe('pack', () => {
  const measure = { maxCharacters: 60, isHtml: true, escapes: true };

  it('joins several lines in order', () => {
    const layout = pack(takeApart('<p>a <b>b</b> c</p><p>d <b>e</b> f</p>', { isHtml: true }), {
      ...measure,
      maxCharacters: 500,
    });
    expect(layout.map((part) => (isSegment(part) ? write(part, true) : part))).toEqual([
      '<p>',
      'a <g id="1">b</g> c<x id="2"/>d <g id="3">e</g> f',
      '</p>',
    ]);
    const segment = layout.find(isSegment)!;
    const [same, other] = [
      'A <g id="1">B</g> C<x id="2"/>D <g id="3">E</g> F',
      'D <g id="3">E</g> F<x id="2"/>A <g id="1">B</g> C',
    ];
    expect(join(read(same, segment, true) as Segment, true)).toBe('A <b>B</b> C</p><p>D <b>E</b> F');
    expect(read(other, segment, true)).toHaveProperty('problem', 'a marker is in another place');
  });

  it('loses no text and exceeds no limit', () => {
    const word = fc.constantFrom('word ', '<b>', '</b>', '<p>', '<br>', '{{x}}', '&amp;', '5 ');
    fc.assert(
      fc.property(fc.array(word, { maxLength: 60 }), (words) => {
        const layout = takeApart(words.join(''), { isHtml: true }).flatMap((part) =>
          isSegment(part) ? cutToFit(part, measure) : [part],
        );
        const packed = pack(layout, measure);
        expect(rejoin(packed, true)).toBe(rejoin(layout, true));
        for (const part of packed.filter(isSegment)) {
          expect(write(part, true).length).toBeLessThanOrEqual(measure.maxCharacters);
          expect(join(read(write(part, true), part, true) as Segment, true)).toBe(join(part, true));
        }
      }),
    );
  });
});

describe('tags that are nested thousands of levels deep', () => {
  const html = '<b>a'.repeat(1250) + '</b>'.repeat(1250);

  it('are cut to any length without an error or loss', () => {
    const measure = { maxCharacters: 200, isHtml: true, escapes: true };
    const layout = takeApart(html, { isHtml: true }).flatMap((part) =>
      isSegment(part) ? cutToFit(part, measure) : [part],
    );
    expect(rejoin(layout, true)).toBe(html);
  });

  it('are paired up to a maximum depth; deeper ones are kept unchanged', () => {
    const pieces = takeApart(`x${html}x`, { isHtml: true }).filter(isSegment).flat();
    const pairs = pieces.filter((piece) => typeof piece !== 'string' && piece.kind === 'open');
    expect(pairs).toHaveLength(32);
  });
});
