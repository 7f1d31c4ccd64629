import type { FilterDiagnosis } from '#libs/contracts/diagnosis';

const MOST_REASONS = 4;

/** Hosts that a step refused, by step and reason. */
export class Refusals {
  readonly #counts = new Map<string, Map<string, number>>();

  add(step: string, reason: string, count = 1): void {
    const reasons = this.#counts.get(step) ?? new Map<string, number>();
    this.#counts.set(step, reasons);
    reasons.set(reason, (reasons.get(reason) ?? 0) + count);
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  get hostCount(): number {
    return this.toFilters().reduce((sum, { refused }) => sum + refused, 0);
  }

  /** Steps with the hosts that each refused, by reason: most hosts first, and of each step the commonest reasons only. */
  toFilters(): FilterDiagnosis[] {
    return [...this.#counts]
      .map(([filter, reasons]) => {
        const sorted = [...reasons].sort(([, a], [, b]) => b - a);
        const refused = sorted.reduce((sum, [, count]) => sum + count, 0);
        return { filter, refused, reasons: Object.fromEntries(sorted.slice(0, MOST_REASONS)) };
      })
      .sort((a, b) => b.refused - a.refused);
  }

  /** `ComputeFilter refuses 2 (its nova-compute is down: 2)`, most hosts first. */
  toText(): string {
    const sentences = this.toFilters().map(({ filter, refused, reasons }) => {
      const shown = Object.entries(reasons).map(([reason, count]) => `${reason}: ${count}`);
      const more = (this.#counts.get(filter)?.size ?? 0) > MOST_REASONS ? ['…'] : [];
      return `${filter} refuses ${refused} (${[...shown, ...more].join('; ')})`;
    });
    return sentences.join(', ');
  }
}
