import type { Clock } from '../../domain/clock';
import type { Instance, InstanceState } from '../../domain/instance';
import { indexAfter } from '../../domain/names';
import {
  type Fence,
  type InstanceFilter,
  type InstanceStore,
  instanceExists,
  isKept,
  MAX_OUTBOX,
  matches,
  outboxFull,
  requestExpired,
  tooManyRecords,
} from '../store';
import { memoryDoubtStore } from './doubt-store';
import { memoryOutbox } from './outbox';

/** The present holders of hosts. */
export interface HostHolders {
  isHeldBy(host: string, epoch: number, atMs: number): boolean;
}

/**
 * Instance records in this process's memory: the embedded default, and what simulations run on. Records are immutable.
 *
 * @param holders  the placement store of the cell, which knows by which epoch hosts are held; without it no fence stands
 */
export function memoryInstanceStore(
  clock: Pick<Clock, 'now'>,
  maxOutbox = MAX_OUTBOX,
  holders?: HostHolders,
): InstanceStore {
  const r = new Records(clock);
  const isFenced = ({ host, epoch }: Fence) => holders?.isHeldBy(host, epoch, clock.now()) ?? false;
  return {
    ...memoryDoubtStore(),
    ...recordLists(r),

    async create(requestId, instances, { publishedAtMs = Infinity, maxOfProject = Infinity } = {}) {
      const known = r.requests.get(requestId);
      if (known) return { created: false, instances: r.present(known) };
      const taken = instances.find((instance) => r.records.has(instance.uuid));
      if (taken) throw instanceExists(taken.uuid);
      if (publishedAtMs <= r.forgottenUpToMs) throw requestExpired(requestId);
      if (r.outbox.size >= maxOutbox) throw outboxFull();
      const projectId = instances[0]?.projectId ?? '';
      if ((r.countsByProject.get(projectId) ?? 0) + instances.length > maxOfProject) {
        throw tooManyRecords(projectId, maxOfProject);
      }
      instances.forEach((one) => r.write(one));
      r.sorted = undefined;
      r.requests.set(
        requestId,
        instances.map((instance) => instance.uuid),
      );
      return { created: true, instances: [...instances] };
    },

    async update(next, { fence, storedAtMs } = {}) {
      const stored = r.records.get(next.uuid);
      if (fence && !isFenced(fence)) return { updated: false, instance: stored, unpublished: [], isUnfenced: true };
      const isOther = storedAtMs !== undefined && stored?.updatedAtMs !== storedAtMs;
      if (stored?.version !== next.version - 1 || isOther) {
        return { updated: false, instance: stored, unpublished: [] };
      }
      return { updated: true, instance: next, unpublished: r.write(next) };
    },

    async markPublished(uuid, version) {
      r.outbox.take(uuid, version);
    },

    async scanOutbox(minAgeMs, onRows) {
      const size = r.outbox.measure();
      const rows = r.outbox.read(minAgeMs);
      if (rows.length > 0) await onRows(rows);
      return size;
    },

    async takeDue(nowMs, leaseMs, limit) {
      const due = [...r.dueAtMs].filter(([, atMs]) => atMs <= nowMs).sort(byTime);
      const taken = due.slice(0, limit).map(([uuid]) => uuid);
      for (const uuid of taken) r.dueAtMs.set(uuid, nowMs + leaseMs);
      return r.present(taken);
    },

    async nextDue(afterMs, limit) {
      const next = [...r.dueAtMs].filter(([, atMs]) => atMs > afterMs).sort(byTime);
      return r.present(next.slice(0, limit).map(([uuid]) => uuid));
    },

    async forget(beforeMs, limit, kept) {
      return r.forget(beforeMs, limit, kept);
    },

    async close() {},
  };
}

/** The records and what finds them. */
class Records {
  readonly records = new Map<string, Instance>();
  readonly requests = new Map<string, readonly string[]>();
  /** Due times are beside the records, because `takeDue` moves them without writing the record. */
  readonly dueAtMs = new Map<string, number>();
  readonly pending = new Set<string>();
  readonly byHost = new Map<string, Set<string>>();
  readonly countsByProject = new Map<string, number>();
  readonly outbox: ReturnType<typeof memoryOutbox>;
  /** All uuids in order, for paging; undefined after a creation, until it is needed. */
  sorted: string[] | undefined;
  /** When the newest of the instances that were forgotten was created. */
  forgottenUpToMs = 0;

  constructor(clock: Pick<Clock, 'now'>) {
    this.outbox = memoryOutbox(clock);
  }

  present(uuids: readonly string[]): Instance[] {
    return uuids.map((uuid) => this.records.get(uuid)).filter((instance) => instance !== undefined);
  }

  write(instance: Instance) {
    if (!this.records.has(instance.uuid)) this.#count(instance, 1);
    this.#moveTo(instance.uuid, instance.host);
    if (instance.state === 'pending') this.pending.add(instance.uuid);
    else this.pending.delete(instance.uuid);
    this.records.set(instance.uuid, instance);
    if (instance.dueAtMs === undefined) this.dueAtMs.delete(instance.uuid);
    else this.dueAtMs.set(instance.uuid, instance.dueAtMs);
    return this.outbox.put(instance);
  }

  candidates(filter: InstanceFilter): readonly string[] {
    if (filter.requestId !== undefined) return [...(this.requests.get(filter.requestId) ?? [])].sort();
    if (filter.host !== undefined) return [...(this.byHost.get(filter.host) ?? [])].sort();
    this.sorted ??= [...this.records.keys()].sort();
    return this.sorted;
  }

  /** Deletes old records that have ended, and resolves to their number. */
  forget(...[beforeMs, limit, kept]: Parameters<InstanceStore['forget']>): number {
    const old: Instance[] = [];
    for (const instance of this.records.values()) {
      if (old.length === limit) break;
      const isOld = hasEnded(instance) && instance.updatedAtMs < beforeMs;
      if (isOld && !isKept(instance, beforeMs, kept) && !this.outbox.has(instance.uuid)) old.push(instance);
    }
    for (const instance of old) {
      const { uuid, requestId, createdAtMs } = instance;
      this.#count(instance, -1);
      this.forgottenUpToMs = Math.max(this.forgottenUpToMs, createdAtMs);
      this.#moveTo(uuid, undefined);
      this.records.delete(uuid);
      const left = this.requests.get(requestId)?.filter((other) => this.records.has(other)) ?? [];
      if (left.length === 0) this.requests.delete(requestId);
    }
    if (old.length > 0) this.sorted = undefined;
    return old.length;
  }

  #moveTo(uuid: string, host: string | undefined): void {
    const before = this.records.get(uuid)?.host;
    if (before === host) return;
    const left = this.byHost.get(before ?? '');
    left?.delete(uuid);
    if (left?.size === 0) this.byHost.delete(before ?? '');
    if (host !== undefined) this.byHost.set(host, (this.byHost.get(host) ?? new Set()).add(uuid));
  }

  #count({ projectId }: Instance, change: 1 | -1): void {
    const next = (this.countsByProject.get(projectId) ?? 0) + change;
    if (next === 0) this.countsByProject.delete(projectId);
    else this.countsByProject.set(projectId, next);
  }
}

type Lists = Pick<InstanceStore, 'get' | 'countPending' | 'countStates' | 'pendingUuids' | 'list' | 'hosts' | 'scan'>;

function recordLists(r: Records): Lists {
  return {
    async get(uuids) {
      return r.present(uuids);
    },

    async countPending(projectId) {
      if (projectId === undefined) return r.pending.size;
      return r.present([...r.pending]).filter((instance) => instance.projectId === projectId).length;
    },

    async countStates() {
      const counts = new Map<InstanceState, number>();
      for (const { state } of r.records.values()) counts.set(state, (counts.get(state) ?? 0) + 1);
      return counts;
    },

    async pendingUuids(limit) {
      return [...r.pending].sort().slice(0, limit);
    },

    async list(filter, marker, limit) {
      const uuids = r.candidates(filter);
      const found: Instance[] = [];
      for (let i = marker === undefined ? 0 : indexAfter(uuids, marker); i < uuids.length; i++) {
        if (found.length >= limit) break;
        const instance = r.records.get(uuids[i] ?? '');
        if (instance && matches(filter, instance)) found.push(instance);
      }
      return found;
    },

    async hosts(marker, limit) {
      const names = [...r.byHost.keys()].sort();
      return names.slice(indexAfter(names, marker)).slice(0, limit);
    },

    async scan(onRows) {
      if (r.records.size > 0) await onRows([...r.records.values()]);
    },
  };
}

function byTime([one, a]: readonly [string, number], [other, b]: readonly [string, number]): number {
  return a - b || (one < other ? -1 : 1);
}

/** By `dueAtMs` as the conductor wrote it: what \`takeDue\` put off is still due. */
function hasEnded({ state, dueAtMs }: Instance): boolean {
  return state === 'deleted' || (state === 'error' && dueAtMs === undefined);
}
