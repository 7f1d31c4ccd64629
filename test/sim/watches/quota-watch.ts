import type { Consumer } from '#libs/domain/consumer';
import { addResources, type Resources } from '#libs/domain/inventory';
import { countedOf, UNLIMITED } from '#libs/domain/quotas/quota';
import type { Change, ProjectUsage, Rows } from '#libs/placement/port/placement-store';

/** Quotas and what projects hold, from all that is written. */
export class QuotaWatch {
  readonly #limits = new Map<string, Resources>();
  readonly #consumers = new Map<string, Consumer>();

  /** What the consumers of a project hold. */
  held(projectId: string): Resources {
    const own = [...this.#consumers.values()].filter((consumer) => consumer.projectId === projectId);
    return own.map(countedOf).reduce<Resources>(addResources, {});
  }

  /** The store is another one, or went back. */
  reset(): void {
    this.#limits.clear();
    this.#consumers.clear();
  }

  /** Takes rows as they are. */
  load({ quotas = [], consumers = [] }: Rows): void {
    for (const { projectId, limits } of quotas) this.#limits.set(projectId, limits);
    for (const consumer of consumers) this.#consumers.set(consumer.uuid, consumer);
  }

  /** Takes a change; which limits it exceeds that were not exceeded as much before, for people. */
  take(change: Change): readonly string[] {
    const before = new Map([...this.#limits.keys()].map((projectId) => [projectId, this.held(projectId)]));
    for (const projectId of change.deletedQuotas ?? []) this.#limits.delete(projectId);
    for (const uuid of change.deletedConsumers ?? []) this.#consumers.delete(uuid);
    this.load(change);
    return [...this.#limits].flatMap(([projectId, limits]) => {
      const now = this.held(projectId);
      const isExceeded = (name: string) =>
        limits[name] !== UNLIMITED &&
        (now[name] ?? 0) > (limits[name] ?? 0) &&
        (now[name] ?? 0) > (before.get(projectId)?.[name] ?? 0);
      return Object.keys(limits)
        .filter(isExceeded)
        .map((name) => `${projectId} to ${now[name]} ${name} of ${limits[name]}`);
    });
  }

  /** Projects of which the store counts something else than their consumers hold. */
  miscounted(usages: readonly ProjectUsage[]): readonly string[] {
    const counted = new Map(usages.map(({ projectId, used }) => [projectId, used]));
    const projects = new Set([...counted.keys(), ...[...this.#consumers.values()].map(({ projectId }) => projectId)]);
    return [...projects].filter((projectId) => {
      const [a, b] = [counted.get(projectId) ?? {}, this.held(projectId)];
      return [...Object.keys(a), ...Object.keys(b)].some((name) => (a[name] ?? 0) !== (b[name] ?? 0));
    });
  }
}
