import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { hostileBodies } from '../hostile-bodies.ts';
import { hostileTexts } from '../hostile-texts.ts';
import { round, type Figure, type Scenario } from '../scenario.ts';

/** One kind of input: a process that reads texts, and the texts. The figure is its worst one. */
type Kind = { name: string; reader: URL; texts(): { name: string; text: string }[] };
type Stall = { stallMs: number; parseMs: number };

/** More kinds go into this list. */
const kinds: readonly Kind[] = [
  {
    name: 'worst 1 MiB body',
    reader: new URL('../../apps/server/src/core/http/testing/body-stalls.ts', import.meta.url),
    texts: hostileBodies,
  },
  {
    name: 'worst text to translate',
    reader: new URL('../../apps/server/src/modules/connectors/translation/testing/text-stalls.ts', import.meta.url),
    texts: hostileTexts,
  },
];

const targetMs = 15;

/** How long the event loop stands still for the worst of each kind of input, next to plain `JSON.parse` of the same text. */
export const hostile: Scenario = {
  name: 'hostile',
  async run({ rounds }) {
    const figures: Figure[] = [];
    for (const kind of kinds) figures.push(await worstOf(kind, rounds));
    return figures;
  },
};

async function worstOf({ name, reader, texts }: Kind, rounds: number): Promise<Figure> {
  const child = fork(fileURLToPath(reader));
  const measured: (Stall & { name: string })[] = [];
  try {
    for (const one of texts()) {
      child.send({ text: one.text, rounds });
      const [stall] = (await once(child, 'message')) as [Stall];
      measured.push({ ...stall, name: one.name });
    }
  } finally {
    child.kill();
  }
  const worst = measured.toSorted((left, right) => right.stallMs - left.stallMs)[0]!;
  return {
    name: `${name}: ${worst.name}`,
    value: round(worst.stallMs, 1),
    unit: 'ms',
    target: { atMost: targetMs },
    detail: {
      jsonParseMs: round(worst.parseMs, 1),
      worstJsonParseMs: round(Math.max(...measured.map(({ parseMs }) => parseMs)), 1),
      texts: measured.length,
      stallsMs: measured.map(({ stallMs }) => round(stallMs, 1)),
    },
  };
}
