import { AppError } from '#core/errors/app-error';
import { translate, type Pair, type Translation } from '#modules/translation/memory/memory.service';
import type { TranslationScope } from '#modules/translation/scope';

/** Texts that are all to be had in one other language. */
export type Parcel = Pair & { texts: readonly string[] };

export type Delivery<Sent extends Parcel> = {
  /** What came back, in the order of the texts. */
  delivered: Map<Sent, readonly Translation[]>;
  /** Why some did not. */
  failure: AppError | undefined;
};

/** As many providers' requests at once as do not look like an attack. */
const atOnce = 4;

/** Translates what can be: where one language fails, the others are kept. */
export async function translateParcels<Sent extends Parcel>(
  scope: TranslationScope,
  parcels: readonly Sent[],
): Promise<Delivery<Sent>> {
  const delivery: Delivery<Sent> = { delivered: new Map(), failure: undefined };
  const waiting = [...parcels];
  const work = async () => {
    for (let parcel = waiting.shift(); parcel !== undefined; parcel = waiting.shift()) {
      try {
        delivery.delivered.set(parcel, await translateParcel(scope, parcel));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        delivery.failure ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return delivery;
}

/** Names and descriptions are plain text as a rule; where there are tags in one, they are kept as tags. */
async function translateParcel(scope: TranslationScope, { texts, ...pair }: Parcel): Promise<Translation[]> {
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

/** Who made them, as answers say it; texts without a word in them need nobody. */
export function providersOf(translations: readonly Pick<Translation, 'provider'>[]): string {
  const providers = new Set(translations.map(({ provider }) => provider).filter((provider) => provider !== 'none'));
  return providers.size === 0 ? 'none' : [...providers].join(', ');
}
