/**
 * One after the other, all of them, whatever becomes of those before.
 * @throws the first failure, once all were tried.
 */
export async function closeEach(steps: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
