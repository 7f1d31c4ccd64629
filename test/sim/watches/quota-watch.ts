import type { Consumer } from '#libs/domain/consumer';
import { addResources, type Resources } from '#libs/domain/inventory';
import { countedOf, type Quota, UNLIMITED } from '#libs/domain/quotas/quota';
import type { Change, ProjectUsage, Rows } from '#libs/placement/port/placement-store';

/** Quotas and use of projects, from all writes. */
export class QuotaWatch {
  readonly #quotas = new Map<string, Quota>();
  readonly #consumers = new Map<string, Consumer>();
  /** Time at which each project last exceeded a limit of its own. */
  readonly #borrowedAtMs = new Map<string, number>();

  /** Resources that a project's consumers hold. */
  held(projectId: string): Resources {
    const own = [...this.#consumers.values()].filter((consumer) => consumer.projectId === projectId);
    return own.map(countedOf).reduce<Resources>(addResources, {});
  }

  /** True if the project exceeded a limit of its own at some time since. */
  hasBorrowed(projectId: string, sinceMs: number): boolean {
    return this.#isBorrowing(projectId) || (this.#borrowedAtMs.get(projectId) ?? -Infinity) >= sinceMs;
  }

  /** The store went back, or is another one. */
  reset(): void {
    this.#quotas.clear();
    this.#consumers.clear();
  }

  /** Loads rows. */
  load({ quotas = [], consumers = [] }: Rows): void {
    for (const quota of quotas) this.#quotas.set(quota.projectId, quota);
    for (const consumer of consumers) this.#consumers.set(consumer.uuid, consumer);
  }

  /** Takes a change; the limits that it newly exceeds, in words. */
  take(change: Change, nowMs: number): readonly string[] {
    this.#noteBorrowing(nowMs);
    const projects = new Set([...this.#quotas.keys(), ...(change.quotas ?? []).map(({ projectId }) => projectId)]);
    const before = new Map([...projects].map((projectId) => [projectId, this.held(projectId)]));
    for (const projectId of change.deletedQuotas ?? []) this.#quotas.delete(projectId);
    for (const uuid of change.deletedConsumers ?? []) this.#consumers.delete(uuid);
    this.load(change);
    this.#noteBorrowing(nowMs);
    const now = new Map([...projects].map((projectId) => [projectId, this.held(projectId)]));
    const cohorts = new Set([...this.#quotas.values()].flatMap(({ cohort }) => (cohort === undefined ? [] : [cohort])));
    return [
      ...[...this.#quotas.keys()].flatMap((projectId) => this.#exceededBy(projectId, before, now)),
      ...[...cohorts].flatMap((cohort) => this.#exceededTogether(cohort, before, now)),
    ];
  }

  /** Projects whose counted use differs from their consumers'. */
  miscounted(usages: readonly ProjectUsage[]): readonly string[] {
    const counted = new Map(usages.map(({ projectId, used }) => [projectId, used]));
    const projects = new Set([...counted.keys(), ...[...this.#consumers.values()].map(({ projectId }) => projectId)]);
    return [...projects].filter((projectId) => {
      const [a, b] = [counted.get(projectId) ?? {}, this.held(projectId)];
      return [...Object.keys(a), ...Object.keys(b)].some((name) => (a[name] ?? 0) !== (b[name] ?? 0));
    });
  }

  /** A project's own limits, with its borrow limit in a cohort. */
  #exceededBy(projectId: string, before: Held, now: Held): string[] {
    const { limits = {}, borrowLimits = {}, cohort } = this.#quotas.get(projectId) ?? {};
    return Object.entries(limits).flatMap(([name, limit]) => {
      const mayBorrow = cohort === undefined ? 0 : (borrowLimits[name] ?? UNLIMITED);
      const isBound = limit !== UNLIMITED && mayBorrow !== UNLIMITED;
      const [was, is] = [before, now].map((held) => held.get(projectId)?.[name] ?? 0) as [number, number];
      const isExceeded = isBound && is > was && is > limit + mayBorrow;
      return isExceeded ? [`${projectId} to ${is} ${name} of ${limit} and ${mayBorrow} borrowed`] : [];
    });
  }

  /** Members of a cohort borrow no more than it has; a member's unlent part is its own. */
  #exceededTogether(cohort: string, before: Held, now: Held): string[] {
    const members = [...this.#quotas].filter(([, quota]) => quota.cohort === cohort);
    const classes = new Set(members.flatMap(([, { limits }]) => Object.keys(limits)));
    return [...classes].flatMap((name) => {
      const lenders = members.filter(([, { limits }]) => (limits[name] ?? UNLIMITED) !== UNLIMITED);
      const keptBy = ({ limits, lendLimits }: Quota) =>
        Math.max(0, (limits[name] ?? 0) - (lendLimits?.[name] ?? Infinity));
      const sum = (of: (projectId: string, quota: Quota) => number) =>
        lenders.reduce((all, [projectId, quota]) => all + of(projectId, quota), 0);
      const lent = sum((_, quota) => (quota.limits[name] ?? 0) - keptBy(quota));
      const usedOf = (held: Held) =>
        sum((projectId, quota) => Math.max(0, (held.get(projectId)?.[name] ?? 0) - keptBy(quota)));
      const [was, is] = [usedOf(before), usedOf(now)];
      return is > was && is > lent ? [`cohort ${cohort} to ${is} ${name} of ${lent}`] : [];
    });
  }

  #isBorrowing(projectId: string): boolean {
    const { cohort, limits = {} } = this.#quotas.get(projectId) ?? {};
    if (cohort === undefined) return false;
    const held = this.held(projectId);
    return Object.entries(limits).some(([name, limit]) => limit !== UNLIMITED && (held[name] ?? 0) > limit);
  }

  #noteBorrowing(nowMs: number): void {
    for (const projectId of this.#quotas.keys()) {
      if (this.#isBorrowing(projectId)) this.#borrowedAtMs.set(projectId, nowMs);
    }
  }
}

/** Resources held, by project. */
type Held = ReadonlyMap<string, Resources>;
