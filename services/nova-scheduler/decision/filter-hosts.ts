import type { CheckHost, FilterContext, HostFilter } from '../filters/filter';
import type { NamedHosts } from '../filters/named-hosts';
import type { HostState } from './host-state';

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

  /** `ComputeFilter refuses 2 (its nova-compute is down: 2)`, most hosts first. */
  toText(): string {
    const sentences = [...this.#counts].map(([step, reasons]) => {
      const sorted = [...reasons].sort(([, a], [, b]) => b - a);
      const count = sorted.reduce((sum, [, one]) => sum + one, 0);
      const shown = sorted.slice(0, MOST_REASONS).map(([reason, one]) => `${reason}: ${one}`);
      const more = sorted.length > MOST_REASONS ? ['…'] : [];
      return { count, text: `${step} refuses ${count} (${[...shown, ...more].join('; ')})` };
    });
    return sentences
      .sort((a, b) => b.count - a.count)
      .map(({ text }) => text)
      .join(', ');
  }
}

const MOST_REASONS = 4;
/** The step of what a request says of hosts by name. */
const NAMED = 'the request';

/** The hosts that pass; the others are counted by the first step that refuses them. */
export function filterHosts(
  hosts: readonly HostState[],
  named: NamedHosts,
  filters: readonly HostFilter[],
  context: FilterContext,
  refusals: Refusals,
): HostState[] {
  const checks: (readonly [string, CheckHost])[] = [[NAMED, named.check]];
  if (!named.skipsFilters) {
    for (const filter of filters) {
      if (context.request.isRebuild && !filter.runsOnRebuild) continue;
      const check = filter.prepare(context);
      if (check !== undefined) checks.push([filter.name, check]);
    }
  }
  return hosts.filter((host) => {
    for (const [step, check] of checks) {
      const reason = check(host);
      if (reason === undefined) continue;
      refusals.add(step, reason);
      return false;
    }
    return true;
  });
}
