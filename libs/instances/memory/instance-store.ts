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
  const outbox = memoryOutbox(clock);
  const records = new Map<string, Instance>();
  const requests = new Map<string, readonly string[]>();
  /** Due times are beside the records, because `takeDue` moves them without writing the record. */
  const dueAtMs = new Map<string, number>();
  const pending = new Set<string>();
  const byHost = new Map<string, Set<string>>();
  const countsByProject = new Map<string, number>();
  /** All uuids in order, for paging; undefined after a creation, until it is needed. */
  let sorted: string[] | undefined;
  /** When the newest of the instances that were forgotten was created. */
  let forgottenUpToMs = 0;

  const isFenced = ({ host, epoch }: Fence) => holders?.isHeldBy(host, epoch, clock.now()) ?? false;

  const present = (uuids: readonly string[]) =>
    uuids.map((uuid) => records.get(uuid)).filter((instance) => instance !== undefined);

  const moveTo = (uuid: string, host: string | undefined) => {
    const before = records.get(uuid)?.host;
    if (before === host) return;
    const left = byHost.get(before ?? '');
    left?.delete(uuid);
    if (left?.size === 0) byHost.delete(before ?? '');
    if (host !== undefined) byHost.set(host, (byHost.get(host) ?? new Set()).add(uuid));
  };

  const count = ({ projectId }: Instance, change: 1 | -1) => {
    const next = (countsByProject.get(projectId) ?? 0) + change;
    if (next === 0) countsByProject.delete(projectId);
    else countsByProject.set(projectId, next);
  };

  const write = (instance: Instance) => {
    if (!records.has(instance.uuid)) count(instance, 1);
    moveTo(instance.uuid, instance.host);
    if (instance.state === 'pending') pending.add(instance.uuid);
    else pending.delete(instance.uuid);
    records.set(instance.uuid, instance);
    if (instance.dueAtMs === undefined) dueAtMs.delete(instance.uuid);
    else dueAtMs.set(instance.uuid, instance.dueAtMs);
    return outbox.put(instance);
  };

  const candidates = (filter: InstanceFilter): readonly string[] => {
    if (filter.requestId !== undefined) return [...(requests.get(filter.requestId) ?? [])].sort();
    if (filter.host !== undefined) return [...(byHost.get(filter.host) ?? [])].sort();
    sorted ??= [...records.keys()].sort();
    return sorted;
  };

  return {
    ...memoryDoubtStore(),

    async create(requestId, instances, { publishedAtMs = Infinity, maxOfProject = Infinity } = {}) {
      const known = requests.get(requestId);
      if (known) return { created: false, instances: present(known) };
      const taken = instances.find((instance) => records.has(instance.uuid));
      if (taken) throw instanceExists(taken.uuid);
      if (publishedAtMs <= forgottenUpToMs) throw requestExpired(requestId);
      if (outbox.size >= maxOutbox) throw outboxFull();
      const projectId = instances[0]?.projectId ?? '';
      if ((countsByProject.get(projectId) ?? 0) + instances.length > maxOfProject) {
        throw tooManyRecords(projectId, maxOfProject);
      }
      instances.forEach(write);
      sorted = undefined;
      requests.set(
        requestId,
        instances.map((instance) => instance.uuid),
      );
      return { created: true, instances: [...instances] };
    },

    async get(uuids) {
      return present(uuids);
    },

    async update(next, { fence, storedAtMs } = {}) {
      const stored = records.get(next.uuid);
      if (fence && !isFenced(fence)) return { updated: false, instance: stored, unpublished: [], isUnfenced: true };
      const isOther = storedAtMs !== undefined && stored?.updatedAtMs !== storedAtMs;
      if (stored?.version !== next.version - 1 || isOther) {
        return { updated: false, instance: stored, unpublished: [] };
      }
      return { updated: true, instance: next, unpublished: write(next) };
    },

    async markPublished(uuid, version) {
      outbox.take(uuid, version);
    },

    async scanOutbox(minAgeMs, onRows) {
      const size = outbox.measure();
      const rows = outbox.read(minAgeMs);
      if (rows.length > 0) await onRows(rows);
      return size;
    },

    async countPending(projectId) {
      if (projectId === undefined) return pending.size;
      return present([...pending]).filter((instance) => instance.projectId === projectId).length;
    },

    async countStates() {
      const counts = new Map<InstanceState, number>();
      for (const { state } of records.values()) counts.set(state, (counts.get(state) ?? 0) + 1);
      return counts;
    },

    async pendingUuids(limit) {
      return [...pending].sort().slice(0, limit);
    },

    async list(filter, marker, limit) {
      const uuids = candidates(filter);
      const found: Instance[] = [];
      for (let i = marker === undefined ? 0 : indexAfter(uuids, marker); i < uuids.length; i++) {
        if (found.length >= limit) break;
        const instance = records.get(uuids[i] ?? '');
        if (instance && matches(filter, instance)) found.push(instance);
      }
      return found;
    },

    async hosts(marker, limit) {
      const names = [...byHost.keys()].sort();
      return names.slice(indexAfter(names, marker)).slice(0, limit);
    },

    async takeDue(nowMs, leaseMs, limit) {
      const due = [...dueAtMs].filter(([, atMs]) => atMs <= nowMs).sort(byTime);
      const taken = due.slice(0, limit).map(([uuid]) => uuid);
      for (const uuid of taken) dueAtMs.set(uuid, nowMs + leaseMs);
      return present(taken);
    },

    async nextDue(afterMs, limit) {
      const next = [...dueAtMs].filter(([, atMs]) => atMs > afterMs).sort(byTime);
      return present(next.slice(0, limit).map(([uuid]) => uuid));
    },

    async scan(onRows) {
      if (records.size > 0) await onRows([...records.values()]);
    },

    async forget(beforeMs, limit, kept) {
      const old: Instance[] = [];
      for (const instance of records.values()) {
        if (old.length === limit) break;
        const isOld = hasEnded(instance) && instance.updatedAtMs < beforeMs;
        if (isOld && !isKept(instance, beforeMs, kept) && !outbox.has(instance.uuid)) old.push(instance);
      }
      for (const instance of old) {
        const { uuid, requestId, createdAtMs } = instance;
        count(instance, -1);
        forgottenUpToMs = Math.max(forgottenUpToMs, createdAtMs);
        moveTo(uuid, undefined);
        records.delete(uuid);
        const left = requests.get(requestId)?.filter((other) => records.has(other)) ?? [];
        if (left.length === 0) requests.delete(requestId);
      }
      if (old.length > 0) sorted = undefined;
      return old.length;
    },

    async close() {},
  };
}

function byTime([one, a]: readonly [string, number], [other, b]: readonly [string, number]): number {
  return a - b || (one < other ? -1 : 1);
}

/** By `dueAtMs` as the conductor wrote it: what \`takeDue\` put off is still due. */
function hasEnded({ state, dueAtMs }: Instance): boolean {
  return state === 'deleted' || (state === 'error' && dueAtMs === undefined);
}
