/**
 * Runs all steps in order, even if earlier steps fail.
 * @throws the first failure, after all steps.
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
