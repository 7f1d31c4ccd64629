import { join } from 'node:path';
import { INSTANCE_STATES, type Instance, type InstanceState } from '../../domain/instance';
import type { RedisClient } from '../../redis/connect';
import { loadScripts } from '../../redis/scripts';
import { batchPerTick } from '../../runtime/batch-per-tick';
import {
  type InstanceFilter,
  type InstanceStore,
  instanceExists,
  MAX_COUNTED,
  MAX_OUTBOX,
  matches,
  outboxFull,
  requestExpired,
  tooManyRecords,
} from '../store';
import { redisDoubtStore } from './doubt-store';
import { fromEvents } from './record';
import { SharedSpecs, textOf } from './shared-specs';
import { WaitingMarks } from './waiting-marks';

const scripts = loadScripts(join(__dirname, 'lua'), [
  'instance-write',
  'instance-page',
  'instance-states',
  'instance-hosts',
  'instance-take-due',
  'instance-forget',
  'instance-outbox',
]);

/** The states that have an index. */
const INDEXED = INSTANCE_STATES.filter(isIndexed);

/** Index of waiting instances by state. */
const PENDING = 'state:pending\0';

/** Instances that one command reads at most. */
const PAGE = 500;

/** Records in one run of the script that writes, beyond those of its first operation: Redis does nothing else meanwhile. */
const MAX_WRITES = 128;
/** A long record counts as several: a run has a megabyte of them beyond its first operation. */
const BYTES_OF_ONE = 8_192;

/** Arguments of `lua/instance-write.lua`: a create, an update or a publication, and its number of instances. */
interface Write {
  readonly args: readonly (string | number)[];
  readonly count: number;
}

/**
 * Instance records of a cell in Redis. All keys have the cell's hash tag; each method that writes is one script.
 *
 * A busy conductor moves dozens of builds a step further in one tick. A run of a script for each costs more than what it
 * writes, so the writes of a tick share one run, and its reads one command. Each is still made or refused by itself and in
 * order; but a read does not wait for a write of its tick that is not awaited. What it costs: when the connection breaks,
 * the outcome of the whole batch is unknown.
 */
export function redisInstanceStore(client: RedisClient, cell: string, maxOutbox = MAX_OUTBOX): InstanceStore {
  const keys = instanceKeys(cell);
  const { requests, records, index, due, ended, outbox, forgotten, specs, holder } = keys;
  const shared = new SharedSpecs((requestIds) => client.run((redis) => redis.hmget(specs, ...requestIds)));
  const on: OnRecords = { client, keys, shared, get: recordReader(client, keys, shared) };

  const writeInBatch = batchPerTick(MAX_WRITES, weightOf, async (writes: readonly Write[]) => {
    const written = [requests, records, index, due, ended, outbox, forgotten, specs, holder];
    const args = [maxOutbox, ...writes.flatMap((one) => one.args)];
    return (await client.runScript(scripts['instance-write'], written, args)) as [outcome: string, ...string[]][];
  });

  const marks = new WaitingMarks((uuid, version) => writeInBatch({ args: ['published', uuid, version], count: 1 }));
  const write = (one: Write) => {
    marks.flush();
    return writeInBatch(one);
  };

  return {
    ...redisDoubtStore(client, cell),
    ...recordWrites(on, write),
    ...recordLists(on),
    ...recordCounts(on),
    get: on.get,

    markPublished: (uuid, version) => marks.add(uuid, version),

    async scanOutbox(minAgeMs, onRows) {
      const size = { instanceCount: 0, ageMs: 0 };
      for (let cursor = '0'; ; ) {
        const args = [cursor, PAGE, minAgeMs];
        const answer = await client.runScript(scripts['instance-outbox'], [outbox, records], args);
        const [next, instanceCount, ageMs, ...events] = answer as [string, number, number, ...string[]];
        size.instanceCount += instanceCount;
        size.ageMs = Math.max(size.ageMs, ageMs);
        if (events.length > 0) await onRows(events.map(fromEvents));
        if (next === '0') return size;
        cursor = next;
      }
    },

    async takeDue(nowMs, leaseMs, limit) {
      const args = [nowMs, nowMs + leaseMs, limit];
      const answer = await client.runScript(scripts['instance-take-due'], [due, records], args);
      return shared.fromRecords(answer as string[]);
    },

    async nextDue(afterMs, limit) {
      const found = await client.run((redis) => redis.zrangebyscore(due, `(${afterMs}`, '+inf', 'LIMIT', 0, limit));
      return on.get(found);
    },

    async forget(beforeMs, limit, kept) {
      const written = [ended, records, index, requests, due, outbox, forgotten, specs];
      return (await client.runScript(scripts['instance-forget'], written, [
        beforeMs,
        limit,
        kept?.createdUpToMs ?? -1,
        kept?.untilMs ?? 0,
      ])) as number;
    },

    close: () => client.close(),
  };
}

type Keys = ReturnType<typeof instanceKeys>;

function instanceKeys(cell: string) {
  const records = `{${cell}}:instances`;
  /** Key of the placement store, in the same cell. */
  const holder = `{${cell}}:host-holders`;
  const requests = `${records}:requests`;
  const index = `${records}:index`;
  const due = `${records}:due`;
  /** Its name is of a time when only deleted instances were in it. */
  const ended = `${records}:deleted`;
  const outbox = `${records}:outbox`;
  const forgotten = `${records}:forgotten`;
  const specs = `${records}:specs`;
  return { records, holder, requests, index, due, ended, outbox, forgotten, specs };
}

/** Shared by all methods of a store. */
interface OnRecords {
  readonly client: RedisClient;
  readonly keys: Keys;
  readonly shared: SharedSpecs;
  readonly get: InstanceStore['get'];
}

/** Reads records by uuid, those of a tick with one command. */
function recordReader(client: RedisClient, { records }: Keys, shared: SharedSpecs): InstanceStore['get'] {
  const lengthOf = (uuids: readonly string[]) => uuids.length;
  const read = batchPerTick(PAGE, lengthOf, async (asked) => {
    const answer = await client.run((redis) => redis.hmget(records, ...asked.flat()));
    let end = 0;
    return asked.map(({ length }) => answer.slice(end, (end += length)));
  });

  return async (uuids: readonly string[]) => {
    const found: Instance[] = [];
    for (let from = 0; from < uuids.length; from += PAGE) {
      const answer = await read(uuids.slice(from, from + PAGE));
      found.push(...(await shared.fromRecords(answer.filter((record) => record !== null))));
    }
    return found;
  };
}

function recordWrites(
  { shared, get }: OnRecords,
  write: (one: Write) => Promise<[outcome: string, ...string[]]>,
): Pick<InstanceStore, 'create' | 'update'> {
  return {
    async create(requestId, instances, { publishedAtMs = '', maxOfProject = '' } = {}) {
      const specsBeside = shared.sharedBy(instances);
      const rows = instances.flatMap((one) => [one.uuid, one.projectId, shared.toRecord(one, specsBeside)]);
      const args = ['create', requestId, publishedAtMs, maxOfProject, textOf(specsBeside), instances.length, ...rows];
      const [outcome, ...details] = await write({ args, count: instances.length });
      if (outcome === 'exists') throw instanceExists(details[0] ?? '');
      if (outcome === 'expired') throw requestExpired(requestId);
      if (outcome === 'full') throw outboxFull();
      if (outcome === 'too_many') throw tooManyRecords(instances[0]?.projectId ?? '', Number(maxOfProject));
      if (outcome !== 'created') return { created: false, instances: await shared.fromRecords(details) };
      for (const spec of specsBeside) shared.share(requestId, spec);
      return { created: true, instances: [...instances] };
    },

    async update(next, { fence, storedAtMs = '' } = {}) {
      const fenced = fence ? ['fenced', fence.host, fence.epoch] : [];
      const args = [...fenced, 'update', next.uuid, storedAtMs, shared.toRecord(next)];
      const [outcome, detail] = await write({ args, count: 1 });
      if (outcome === 'unfenced') {
        const [stored] = await get([next.uuid]);
        return { updated: false, instance: stored, unpublished: [], isUnfenced: true };
      }
      if (outcome === 'updated') {
        const before = detail === undefined ? [] : fromEvents(detail);
        return { updated: true, instance: next, unpublished: [...before, next] };
      }
      const [instance] = await shared.fromRecords(detail === undefined ? [] : [detail]);
      return { updated: false, instance, unpublished: [] };
    },
  };
}

/** Records of an index by their members, after a marker. */
async function pageOf(
  { client, keys: { index, records }, shared }: OnRecords,
  prefix: string,
  marker: string,
  limit: number,
): Promise<Instance[]> {
  const answer = await client.runScript(scripts['instance-page'], [index, records], [prefix, marker, limit]);
  return shared.fromRecords(answer as string[]);
}

function recordLists(on: OnRecords): Pick<InstanceStore, 'list' | 'hosts' | 'scan' | 'pendingUuids'> {
  const { client, get } = on;
  const { requests, index, due } = on.keys;
  /** The instances of `uuids` that match a filter, as `list` answers them. */
  const among = async (uuids: readonly string[], filter: InstanceFilter, marker: string, limit: number) => {
    const after = uuids.filter((uuid) => uuid > marker).sort();
    return (await get(after)).filter((instance) => matches(filter, instance)).slice(0, limit);
  };

  const listRequest = async (filter: InstanceFilter, requestId: string, marker: string, limit: number) => {
    const known = await client.run((redis) => redis.hget(requests, requestId));
    return among(known?.split(',') ?? [], filter, marker, limit);
  };

  const listIndex = async (filter: InstanceFilter, marker: string, limit: number) => {
    const { prefix, isWhole } = indexFor(filter);
    const found: Instance[] = [];
    for (let after = marker; ; ) {
      const size = isWhole ? Math.min(PAGE, limit - found.length) : PAGE;
      const rows = size > 0 ? await pageOf(on, prefix, after, size) : [];
      found.push(...rows.filter((instance) => matches(filter, instance)));
      if (rows.length < size || found.length >= limit) return found.slice(0, limit);
      after = rows.at(-1)?.uuid ?? '';
    }
  };

  /** The index has instances at rest, `due` the others; one that comes to rest meanwhile is in both. */
  const listState = async (filter: InstanceFilter, marker: string, limit: number) => {
    const inTransit = await client.run((redis) => redis.zrange(due, '0', '-1'));
    const found = await among(inTransit, filter, marker, limit);
    const atRest = await listIndex(filter, marker, limit);
    const byUuid = new Map([...found, ...atRest].map((instance) => [instance.uuid, instance]));
    return [...byUuid.values()].sort((a, b) => (a.uuid < b.uuid ? -1 : 1)).slice(0, limit);
  };

  return {
    async list(filter, marker = '', limit) {
      const { requestId, projectId, host, state } = filter;
      if (requestId !== undefined) return listRequest(filter, requestId, marker, limit);
      const isByState = isIndexed(state) && host === undefined && projectId === undefined;
      return isByState ? listState(filter, marker, limit) : listIndex(filter, marker, limit);
    },

    async hosts(marker, limit) {
      const found: string[] = [];
      while (found.length < limit) {
        const size = Math.min(PAGE, limit - found.length);
        const args = [found.at(-1) ?? marker, size];
        const names = (await client.runScript(scripts['instance-hosts'], [index], args)) as string[];
        found.push(...names);
        if (names.length < size) break;
      }
      return found;
    },

    async pendingUuids(limit) {
      const found = await client.run((redis) =>
        redis.zrangebylex(index, `(${PENDING}`, `(${PENDING}~`, 'LIMIT', 0, limit),
      );
      return found.map((member) => member.slice(PENDING.length));
    },

    async scan(onRows) {
      for (let after = ''; ; ) {
        const rows = await pageOf(on, 'all:\0', after, PAGE);
        if (rows.length > 0) await onRows(rows);
        if (rows.length < PAGE) return;
        after = rows.at(-1)?.uuid ?? '';
      }
    },
  };
}

function recordCounts({
  client,
  keys: { records, index, due },
}: OnRecords): Pick<InstanceStore, 'countPending' | 'countStates'> {
  return {
    countPending(projectId) {
      const prefix = projectId === undefined ? PENDING : `pending:${projectId}\0`;
      return client.run((redis) => redis.zlexcount(index, `(${prefix}`, `(${prefix}~`));
    },

    async countStates() {
      const sizeOf = (prefix: string) => client.run((redis) => redis.zlexcount(index, `(${prefix}\0`, `(${prefix}\0~`));
      const [all, dueCount, ...atRest] = await Promise.all([
        sizeOf('all:'),
        client.run((redis) => redis.zcard(due)),
        ...INDEXED.map((state) => sizeOf(`state:${state}`)),
      ]);
      const counts = new Map(INDEXED.map((state, n) => [state, atRest[n] ?? 0]));
      // Pending ones are due and in the index; the others at rest are active.
      const pending = counts.get('pending') ?? 0;
      const resting = atRest.reduce((sum, count) => sum + count, -pending);
      counts.set('active', Math.max(0, all - dueCount - resting));
      for (let first = 0; first < MAX_COUNTED; first += PAGE) {
        const answer = await client.runScript(scripts['instance-states'], [due, records], [first, first + PAGE - 1]);
        const [readCount, ...pairs] = answer as [number, ...(InstanceState | number)[]];
        for (let n = 0; n < pairs.length; n += 2) {
          const state = pairs[n] as InstanceState;
          if (state !== 'pending') counts.set(state, (counts.get(state) ?? 0) + Number(pairs[n + 1]));
        }
        if (readCount < PAGE) break;
      }
      return new Map([...counts].filter(([, count]) => count > 0));
    },
  };
}

function weightOf({ args, count }: Write): number {
  let length = 0;
  for (const arg of args) if (typeof arg === 'string') length += arg.length;
  return count + Math.floor(length / BYTES_OF_ONE);
}

/** The most selective index for a filter, and whether all that it finds match. */
function indexFor(filter: InstanceFilter): { readonly prefix: string; readonly isWhole: boolean } {
  const isWhole = Object.values(filter).filter((value) => value !== undefined).length <= 1;
  if (filter.host !== undefined) return { prefix: `host:${filter.host}\0`, isWhole };
  if (filter.projectId !== undefined) return { prefix: `project:${filter.projectId}\0`, isWhole };
  if (isIndexed(filter.state)) return { prefix: `state:${filter.state}\0`, isWhole };
  return { prefix: 'all:\0', isWhole: filter.state === undefined };
}

/** True if a state has an index: active instances have none, because most are active. */
function isIndexed(state: InstanceState | undefined): boolean {
  return state !== undefined && state !== 'active';
}
