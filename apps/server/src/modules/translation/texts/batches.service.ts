import { AppError } from '#core/base/errors/app-error';
import { translate, type Pair, type Translation } from '#modules/translation/memory/memory.service';
import type { TranslationScope } from '#modules/translation/scope';

/** Texts for the same target language. */
export type TextBatch = Pair & { texts: readonly string[] };

export type Delivery<Sent extends TextBatch> = {
  /** Translations in the order of the texts. */
  delivered: Map<Sent, readonly Translation[]>;
  /** The first error. */
  failure: AppError | undefined;
};

/** Concurrent batches, few enough for the rate limits of providers. */
const atOnce = 4;

/** Translates all batches; a failed language does not affect the others. */
export async function translateBatches<Sent extends TextBatch>(
  scope: TranslationScope,
  batches: readonly Sent[],
): Promise<Delivery<Sent>> {
  const delivery: Delivery<Sent> = { delivered: new Map(), failure: undefined };
  const waiting = [...batches];
  const work = async () => {
    for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift()) {
      try {
        delivery.delivered.set(batch, await translateBatch(scope, batch));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        delivery.failure ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return delivery;
}

/** Names and descriptions are usually plain text; tags in them are kept as HTML. */
async function translateBatch(scope: TranslationScope, { texts, ...pair }: TextBatch): Promise<Translation[]> {
  const isHtml = texts.map((text) => /<\/?[a-z][^<>]*>/i.test(text));
  const some = async (html: boolean) => {
    const chosen = texts.filter((_, at) => isHtml[at] === html);
    if (chosen.length === 0) return [];
    const { source, target } = pair;
    return (await translate(scope, { source, target, html, texts: chosen })).translations;
  };
  const [plain, html] = [await some(false), await some(true)];
  return isHtml.map((is) => (is ? html : plain).shift()!);
}

/** Value of `provider_used`; texts without words need no provider. */
export function providersOf(translations: readonly Pick<Translation, 'provider'>[]): string {
  const providers = new Set(translations.map(({ provider }) => provider).filter((provider) => provider !== 'none'));
  return providers.size === 0 ? 'none' : [...providers].join(', ');
}
