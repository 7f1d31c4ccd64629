/** Exceeds the processors of any instance. */
const MAX_CPU = 4_095;

/**
 * Parses a list of numbers and ranges, `0-3,^2,6`; `^` removes from those named before it. A list of removals only
 * starts from all `cpuCount` processors. Undefined for any other text.
 */
export function parseCpuSet(text: string, cpuCount: number): ReadonlySet<number> | undefined {
  const parts = text.split(',').map((part) => part.trim());
  const isOnlyLess = parts.every((part) => part.startsWith('^'));
  const cpus = new Set(isOnlyLess ? Array.from({ length: cpuCount }, (_, cpu) => cpu) : []);
  for (const part of parts) {
    const [, less, first = '', last = first] = /^(\^)?(\d{1,4})(?:-(\d{1,4}))?$/.exec(part) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (first === '' || from > to || to > MAX_CPU) return undefined;
    for (let cpu = from; cpu <= to; cpu++) {
      if (less === undefined) cpus.add(cpu);
      else cpus.delete(cpu);
    }
  }
  return cpus;
}
