import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { createOnePerTurn } from '#core/base/concurrency/one-per-turn';

const flow = (tenant: string) => ({ tenant, principal: 'p' });

describe('work of the event loop', () => {
  it('runs once in each turn, also if it comes while other work runs', async () => {
    const run = createOnePerTurn();
    const done: number[] = [];
    run(flow('a'), () => {
      done.push(0);
      run(flow('a'), () => done.push(3));
    });
    for (const name of [1, 2]) run(flow('a'), () => done.push(name));
    expect(done).toEqual([]);
    for (let count = 1; count <= 4; count++) {
      await turn();
      expect(done).toEqual([0, 1, 2, 3].slice(0, count));
    }
    run(flow('a'), () => done.push(4));
    await turn();
    expect(done).toEqual([0, 1, 2, 3, 4]);
  });

  it('is shared equally by tenants', async () => {
    const run = createOnePerTurn();
    const done: string[] = [];
    for (let at = 0; at < 50; at++) run(flow('flood'), () => done.push('flood'));
    run(flow('quiet'), () => done.push('quiet'));
    for (let at = 0; at < 3; at++) await turn();
    expect(done).toContain('quiet');
  });
});
