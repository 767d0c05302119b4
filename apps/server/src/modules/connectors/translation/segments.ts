import { unusable } from '#modules/connectors/calls/failures';
import type { ProviderFetch } from '#modules/connectors/calls/provider-calls.service';
import type { ProviderSettings } from '#modules/connectors/provider';
import type { LanguagePair, TokenUse, Translated, TranslationAdapter } from '#modules/connectors/translation/adapter';
import { isSameStructure } from '#modules/connectors/translation/protection/html';
import { atItsMarkers, takeApart, trim } from '#modules/connectors/translation/protection/layout';
import { cutToFit, pack } from '#modules/connectors/translation/protection/lengths.rules';
import { read, write } from '#modules/connectors/translation/protection/markers.rules';
import {
  hasMarkers,
  isSegment,
  join,
  type Layout,
  type Segment,
} from '#modules/connectors/translation/protection/pieces.rules';

/** A provider to call. */
export type Engine = { adapter: TranslationAdapter; settings: ProviderSettings; fetch: ProviderFetch };

export type Job = LanguagePair & { texts: readonly string[]; isHtml: boolean };

/**
 * Translates all texts with one provider, in as many requests as needed.
 * @throws ProviderFailure if a request fails, or a translation is unusable
 */
export async function translateAll(engine: Engine, job: Job): Promise<Translated> {
  const { isHtml, texts } = job;
  const layouts = texts.map((text) => layoutFor(engine.adapter, text, isHtml));
  const said: Said = { model: null, tokens: null };
  const translated = fill(layouts, await translateSegments(engine, job, { segments: segmentsOf(layouts), said }));
  const isSound = !isHtml || translated.every((text, index) => isSameStructure(texts[index]!, text));
  if (!isSound) throw unusable('the tags are not those that were there');
  return { ...said, texts: translated };
}

/** Maximum number of parts of a text, also after a retry in smaller parts. */
const maxParts = 100;

function layoutFor(
  { alsoProtects, escapes, maxCharacters }: TranslationAdapter,
  text: string,
  isHtml: boolean,
): Layout {
  const measure = { maxCharacters, isHtml, escapes };
  const layout = takeApart(text, { isHtml, alsoProtects })
    .flatMap((part) => (isSegment(part) ? cutToFit(part, measure) : [part]))
    .flatMap((part) => (isSegment(part) ? trim(part, isHtml) : [part]));
  return layout.filter(isSegment).length > maxParts ? pack(layout, measure) : layout;
}

function segmentsOf(layouts: readonly Layout[]): Segment[] {
  return layouts.flat().filter(isSegment);
}

/** Each layout with the translations of its segments, which come in their order. */
function fill(layouts: readonly Layout[], translations: readonly string[]): string[] {
  let next = 0;
  return layouts.map((layout) => layout.map((part) => (isSegment(part) ? translations[next++]! : part)).join(''));
}

type Said = Pick<Translated, 'model' | 'tokens'>;
type Work = { segments: readonly Segment[]; said: Said };

async function translateSegments(engine: Engine, job: Job, { segments, said }: Work): Promise<string[]> {
  const results = await attempt(engine, job, { segments, said });
  const lost = segments.filter((_segment, index) => typeof results[index] !== 'string');
  if (lost.length === 0) return results as string[];
  const { retry } = engine.adapter;
  if (retry === 'never' || (retry === 'apart' && !lost.every(hasMarkers))) throw firstProblem(results);
  const layouts = lost.map((segment): Layout => (retry === 'again' ? [segment] : atItsMarkers(segment, job.isHtml)));
  if (retry === 'apart' && segmentsOf(layouts).length > maxParts) throw firstProblem(results);
  const retried = await attempt(engine, job, { segments: segmentsOf(layouts), said });
  if (!retried.every((result) => typeof result === 'string')) throw firstProblem(retried);
  const saved = fill(layouts, retried);
  return results.map((result) => (typeof result === 'string' ? result : saved.shift()!));
}

/** The translation of a segment, or its problem. */
type Result = string | { problem: string };

function firstProblem(results: readonly Result[]): Error {
  return unusable(results.find((result) => typeof result !== 'string')!.problem);
}

async function attempt(engine: Engine, { isHtml, ...pair }: Job, { segments, said }: Work): Promise<Result[]> {
  const { adapter } = engine;
  const batches = batchesOf(segments, adapter);
  const answers = await inParallel(batches, adapter.parallel, (texts, signal) =>
    ask(engine, { ...pair, texts }, signal),
  );
  for (const { model, tokens } of answers) {
    said.model = model ?? said.model;
    said.tokens = sum(said.tokens, tokens);
  }
  const texts = answers.flatMap((answer) => answer.texts);
  return segments.map((segment, index) => {
    const pieces = read(texts[index]!, segment, adapter.escapes);
    return 'problem' in pieces ? pieces : join(pieces, isHtml);
  });
}

async function ask(
  engine: Engine,
  wanted: LanguagePair & { texts: string[] },
  signal: AbortSignal,
): Promise<Translated> {
  const { adapter, settings, fetch } = engine;
  const { source, target, texts } = wanted;
  const isMarkup = texts.some((text) => /[<&>]/.test(text));
  const { url, ...request } = adapter.request(settings, { source, target, texts, isMarkup });
  const answer = await fetch(url, { method: 'POST', ...request, signal });
  return adapter.read(settings, await answer.text(), texts.length);
}

/** Limited to the concurrency of the provider. */
function batchesOf(segments: readonly Segment[], adapter: TranslationAdapter): string[][] {
  const batches: string[][] = [];
  let room = 0;
  for (const segment of segments) {
    const text = write(segment, adapter.escapes);
    const last = batches.at(-1);
    if (last !== undefined && last.length < adapter.maxTexts && text.length <= room) last.push(text);
    else {
      batches.push([text]);
      room = adapter.maxCharacters;
    }
    room -= text.length;
  }
  return batches;
}

/** Results in the order of the items; after a failure no item starts, and running ones are aborted. */
async function inParallel<Item, Done>(
  items: readonly Item[],
  max: number,
  work: (item: Item, signal: AbortSignal) => Promise<Done>,
): Promise<Done[]> {
  const failed = new AbortController();
  const results: Done[] = [];
  let next = 0;
  const run = async () => {
    while (next < items.length) {
      const index = next++;
      try {
        results[index] = await work(items[index]!, failed.signal);
      } catch (error) {
        next = items.length;
        failed.abort();
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(max, items.length) }, run));
  return results;
}

function sum(one: TokenUse | null, other: TokenUse | null): TokenUse | null {
  if (one === null || other === null) return one ?? other;
  return { input: one.input + other.input, output: one.output + other.output, total: one.total + other.total };
}
