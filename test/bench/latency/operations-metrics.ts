/** What a process says on its operations port (`/metrics`). */
export async function operationsMetrics(operationsPort: number): Promise<string> {
  return (await fetch(`http://127.0.0.1:${operationsPort}/metrics`)).text();
}

/** A metric, of all its labels together. */
export function sumOf(metrics: string, name: string): number {
  const lines = metrics.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)`, 'gm'));
  return [...lines].reduce((all, [, value]) => all + Number(value), 0);
}
