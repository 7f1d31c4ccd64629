import type { Consumer } from '../../domain/consumer';
import type { Resources } from '../../domain/inventory';
import { countedOf, DEFAULT_PROJECT, type ProjectQuota, type QuotaState } from '../../domain/quotas/quota';
import { SetIndex } from '../index/set-index';
import type { Revised } from '../port/placement-store';
import { NOT_NEWER, VersionedRows } from './versioned-rows';

const NOTHING: Resources = {};

/** Quotas as a mirror has them, and what each project holds, summed over the consumers that it shows. */
export class ProjectIndex implements QuotaState {
  readonly rows = new VersionedRows<ProjectQuota>();
  readonly #byCohort = new SetIndex();
  readonly #all: VersionedRows<Consumer>;
  /** Consumers by project, from the first time that somebody asks: most processes never do, and each claim would pay for it. */
  #consumers: SetIndex | undefined;
  readonly #held = new Map<string, Record<string, number>>();

  /** @param consumers  all that the mirror shows */
  constructor(consumers: VersionedRows<Consumer>) {
    this.#all = consumers;
  }

  quota(projectId: string): Revised<ProjectQuota> | undefined {
    return this.rows.get(projectId);
  }

  defaultQuota(): ProjectQuota | undefined {
    return this.rows.get(DEFAULT_PROJECT);
  }

  usage(projectId: string): Resources {
    return this.#held.get(projectId) ?? NOTHING;
  }

  members(cohort: string): readonly string[] {
    return [...this.#byCohort.get(cohort)];
  }

  /** Uuids of the consumers of a project. */
  consumers(projectId: string): ReadonlySet<string> {
    if (!this.#consumers) {
      this.#consumers = new SetIndex();
      for (const consumer of this.#all.values()) this.#consumers.add(consumer.projectId, consumer.uuid);
    }
    return this.#consumers.get(projectId);
  }

  /** Projects that have a quota, and those that hold something. */
  projects(): readonly string[] {
    return [...new Set([...this.rows.keys(), ...this.#held.keys()])].sort();
  }

  set(row: Revised<ProjectQuota>, floor: number): void {
    const before = this.rows.set(row.projectId, row, floor);
    if (before !== NOT_NEWER) this.#byCohort.move(row.projectId, cohortOf(before), cohortOf(row));
  }

  delete(projectId: string, revision: number, floor: number): void {
    const before = this.rows.delete(projectId, revision, floor);
    this.#byCohort.move(projectId, cohortOf(before), []);
  }

  /** A consumer is another than before, or new, or gone. */
  move(before: Consumer | undefined, after: Consumer | undefined): void {
    if (before && before.projectId !== after?.projectId) this.#consumers?.delete(before.projectId, before.uuid);
    if (after && after.projectId !== before?.projectId) this.#consumers?.add(after.projectId, after.uuid);
    if (before) this.#add(before, -1);
    if (after) this.#add(after, 1);
  }

  #add(consumer: Consumer, by: number): void {
    const { projectId } = consumer;
    const known = this.#held.get(projectId);
    const held = known ?? {};
    const counted = countedOf(consumer);
    for (const name in counted) {
      const sum = (held[name] ?? 0) + by * (counted[name] as number);
      if (sum === 0) delete held[name];
      else held[name] = sum;
    }
    if (isEmpty(held)) this.#held.delete(projectId);
    else if (!known) this.#held.set(projectId, held);
  }
}

function isEmpty(resources: Resources): boolean {
  for (const _ in resources) return false;
  return true;
}

function cohortOf(quota: ProjectQuota | undefined): readonly string[] {
  return quota?.cohort === undefined ? [] : [quota.cohort];
}
