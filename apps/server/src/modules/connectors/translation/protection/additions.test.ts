import { expect, it } from 'vitest';

import { takeApart } from '#modules/connectors/translation/protection/layout';
import { read } from '#modules/connectors/translation/protection/markers.rules';
import { isSegment } from '#modules/connectors/translation/protection/pieces.rules';

const marked = 'Write to {{name}} at https://example.com or me@example.com, <b>now</b>';
/** What a provider is taken to have said of the source. */
const said = (answer: string, source: string, isHtml = false) =>
  read(answer, takeApart(source, { isHtml }).find(isSegment)!, true);

it.each([
  'bob.smith@evil.com',
  'mailto:a@evil.com',
  'bob@bücher.example',
  'https://evil.com',
  '//evil.com/x',
  '//evil.com',
  'www.evil.com',
  'javascript:alert(1)',
  'JavaScript: alert(1)',
  'vbscript:x',
  'data:text/html,x',
  '{n}',
  '{0}',
  '{}',
  '{',
  '{{x}}',
  '{count, plural, one {# x} other {# y}}',
  '{0:N2}',
  '${x}',
  '%{x}',
  '%s',
  '%d',
  '%1$s',
  '%05.2f',
  '%(name)s',
  '%%',
  '{% x %}',
  '<%= x %>',
  '<b>',
  '&nbsp;',
  ':name',
  ':password.',
  ':smile:',
])('refuses %j, which is not in the source', (brought) => {
  const problem = 'the answer adds a tag, a placeholder or an address';
  const wire = brought.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  for (const isHtml of [false, true]) {
    expect(said(`Hola ${wire} amigo`, 'Hello there', isHtml)).toEqual({ problem });
    expect(said(`Hola ${wire}`, 'Hello there: 50 % (or more)', isHtml)).toEqual({ problem });
  }
  expect(said(`A <x id="1"/> <x id="2"/> <x id="3"/>, <g id="4">ya ${wire}</g>`, marked, true)).toEqual({ problem });
  expect(said(`A <x id="1"/> <x id="2"/> <x id="3"/>, <g id="4">${wire} ya</g>`, marked, true)).toEqual({ problem });
});

it.each([
  ['a third brace', '{<x id="1"/>} <x id="2"/> <x id="3"/>'],
  ['an address of a placeholder', '<x id="1"/>@evil.com <x id="2"/> <x id="3"/>'],
  ['a link of a placeholder', 'https://<x id="1"/> <x id="2"/> <x id="3"/>'],
  ['a mail to an address', '<x id="1"/> <x id="2"/> mailto:<x id="3"/>'],
  ['another host', '<x id="1"/> <x id="2"/>.evil.com <x id="3"/>'],
  ['another host', '<x id="1"/> <x id="2"/>@evil.com <x id="3"/>'],
  ['another host', '<x id="1"/> <x id="2"/>-x.evil.com <x id="3"/>'],
  ['another host', '<x id="1"/> <x id="2"/> <x id="3"/>.evil.com'],
  ['another path', '<x id="1"/> <x id="2"/>/evil <x id="3"/>'],
])('refuses with %s: %j', (_what, answer) => {
  expect(said(`Escribe: ${answer}, <g id="4">ya</g>`, marked, true)).toHaveProperty('problem');
  expect(said(`${answer} son dos`, 'Write to {{name}} at https://example.com or me@example.com')).toHaveProperty(
    'problem',
  );
});

// What other languages make of ordinary texts.
it.each([
  ['Half of it', 'Az 50 %-os rész, az emberek 50%-a, 20 %-ig'],
  ['Half of it', '50 %:n osuus, 50 %:sta, 50 %:iin'],
  ['Half of it', "Tutarın %50'si, %50'ye varan, yüzde 100"],
  ['Half of it', 'Langileen %50ean, %50eko'],
  ['Surely', '100 % sicher, 100%ig, 100% seguro, 5 % de todo'],
  ['Note', 'Remarque : ceci est important ; voir « Salle 1 » (10:30)'],
  ['Note', 'Hinweis: z.B. hier.Und dort, d.h. u.a. Node.js'],
  ['Note', '备注：会议室（１０：３０），请看：大厅。好：a'],
  ['And/or', 'y/o, und/oder, km/h, 24/7, s/n, a//b'],
  ['The union', 'EU:ssa, (EU):ssa, "Atrium":lle, 5 €:n'],
  ['Come at six', 'Komm um 18:00:00, :-) und :D'],
  ['Learn it', 'JavaScript: eine Einführung (Teil 2), Data: 12/05/2026'],
  ['Price in dollars', 'Preis $5, 5 $, #1, 5 & 6, @home, C# < D'],
  ['It is {so so} or {that is it}', 'Es ist {also so} oder {das ist es}'],
])('accepts %j as %j', (source, answer) => {
  const wire = answer.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  expect(said(wire, source)).not.toHaveProperty('problem');
  expect(said(`Eins, <g id="1">${wire}</g>`, `One, <b>${source}</b>`, true)).not.toHaveProperty('problem');
});

it.each([
  ['{name} and {n} rooms', '<x id="1"/>:n ja <x id="2"/>:sta'],
  ['<b>EU</b> and {n} rooms', '<g id="1">EU</g>:ssa <x id="2"/>:ssä'],
  ['{n} percent of ${m}', '%<x id="1"/> von $<x id="2"/>'],
  ['At https://example.com and www.example.com', '<x id="1"/>\'ye ve <x id="2"/>\'da'],
  ['At https://example.com and me@example.com', '<x id="1"/>-on, <x id="2"/>:ssa'],
  ['At https://example.com and me@example.com', '<x id="2"/>と<x id="1"/>です。'],
  ['At https://example.com and me@example.com', 'Bei (<x id="1"/>), „<x id="2"/>“.'],
  ['Hi {{name}}, %s of %1$d', '%1<x id="1"/>, <x id="2"/>さん<x id="3"/>つ'],
])('accepts markers in words of other languages: %j as %j', (source, answer) => {
  expect(said(answer, source, source.startsWith('<'))).not.toHaveProperty('problem');
});
