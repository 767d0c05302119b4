import { expect } from 'vitest';

import { createConnector, path } from '#modules/connectors/testing/connectors';
import { isSameStructure } from '#modules/connectors/translation/protection/html';
import {
  translateTexts,
  type TextsToTranslate,
  type TranslatedTexts,
} from '#modules/connectors/translation/translation.service';
import type { Tenant } from '#test/support/factories';
import type { TestService } from '#test/support/harness';

export const plainTexts = [
  'Hello {{name}}, you have %s new messages in {count} rooms.',
  'See https://example.com/a?b=c&d=e or write to info@example.com today, %1$s.',
  '{n, plural, one {# room} other {# rooms}} are free on ${day}',
  'Prices: a < b & "c" > d, <b>not a tag</b> &amp; 5 * 3 # 4 @home ^x$ [y] /z\\ ~w',
  '  First line \n\n- second line\r\n\tthird line  ',
  'Ä €  ünïcödé 𝕏 👩‍👩‍👧 日本語 café 🎉',
  'מלון גדול مرحبا بالعالم \u200fRTL',
  'The UNKNOWN *starred* #hash @at Frobnicator',
  'x'.repeat(200),
  'He said: "It\'s fine; isn\'t it?" (yes/no)',
];

export const htmlTexts = [
  '<p>The <b>red <i>house</i></b> of {{owner}} is <a href="/a?b=1&amp;c=2" title="x > y">big</a>.</p>',
  '<ul><li>One room</li><li>Two <em>rooms</em>&nbsp;&copy; 2026</li></ul><!-- a comment --><br>Done',
  'Caf&eacute; &amp; bar &lt;not a tag&gt; don&#39;t <img src="a.png" alt="view"> stay',
  '<div class="a"><p>Unclosed <b>bold<p>and <i>more</div> text</i>',
  '<script>var x = "<p>no</p>";</script><style>p{}</style>Run <code>npm i</code> now, <span translate="no">Brand</span>!',
  '<table><tr><td>Cell one</td><td></td></tr></table>',
];

export const placeholders =
  /\{\{\w+\}\}|%(?:\d\$)?s|\{count\}|\{n, plural, .*\}\}|\$\{day\}|https:\S+|\S+@example\.com/g;
const kept = (text: string) => (text.match(placeholders) ?? []).toSorted();

/** Invariants of the translations of every provider. */
export function expectSound(before: readonly string[], after: readonly string[], isHtml: boolean): void {
  expect(after).toHaveLength(before.length);
  for (const [index, text] of before.entries()) {
    const translated = after[index]!;
    expect(kept(translated)).toEqual(kept(text));
    expect(translated).not.toMatch(/<\/?[gx](?: id=.*)?>/);
    expect(translated.match(/[\n\r]/g)).toEqual(text.match(/[\n\r]/g));
    if (isHtml) expect(isSameStructure(text, translated)).toBe(true);
    else expect(translated.match(/[<>&*#@]/g)?.toSorted()).toEqual(text.match(/[<>&*#@]/g)?.toSorted());
  }
}

/** From English to Spanish, unless `rest` says otherwise. */
export function translate(
  test: TestService,
  tenant: Tenant,
  texts: readonly string[],
  rest: Partial<TextsToTranslate> = {},
): Promise<TranslatedTexts> {
  const caller = { userId: null, requestId: null };
  const languages = { source: 'en', target: 'es', html: false };
  const operation = 'translation.text';
  const { tenantId } = tenant;
  return translateTexts(test.service.services, { tenantId, operation, caller, ...languages, texts, ...rest });
}

/** Gives the tenant these connectors, in this order, and no others. */
export async function connect(test: TestService, tenant: Tenant, connectors: Record<string, unknown>[]): Promise<void> {
  const { token } = tenant.admin;
  const { body } = await test.call('GET', path, { token });
  for (const { id, tenantId } of body.data as { id: string; tenantId: string | null }[])
    if (tenantId !== null) await test.call('DELETE', `${path}/${id}`, { token });
  for (const [index, connector] of connectors.entries())
    await createConnector(test, token, { priority: index + 1, ...connector });
}
