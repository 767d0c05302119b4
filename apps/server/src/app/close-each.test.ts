import { expect, it } from 'vitest';

import { closeEach } from '#app/close-each';

it('runs all steps in order, then throws the first failure', async () => {
  const closed: string[] = [];
  const close = (name: string) => async () => {
    await Promise.resolve();
    closed.push(name);
  };
  const fail = (name: string) => () => {
    closed.push(name);
    throw new Error(name);
  };
  await expect(
    closeEach([close('first'), fail('second'), () => Promise.reject(new Error('third')), close('last')]),
  ).rejects.toThrow('second');
  expect(closed).toEqual(['first', 'second', 'last']);
  await closeEach([close('again')]);
});
