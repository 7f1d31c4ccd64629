import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import type { OperateInstanceRequest } from '#libs/contracts/operations';
import { operateInstanceMethod } from '#libs/contracts/operations';
import { BUILD_REQUESTS, RPC_CONDUCTOR } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { TOP } from '#libs/domain/cells/cell';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import type { Instance } from '#libs/domain/instance';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import type { ServerGroup } from '#libs/domain/server-group';
import { confirmed, pick } from '../actions/common';
import type { CellsRun, Perform } from './cells-checker';
import { CELLS, TENANTS } from './cells-world';

interface Wanted {
  readonly count?: number;
  readonly vcpus?: number;
  readonly group?: ServerGroup;
  readonly minCount?: number;
  /** Members of the gang besides the first kind's, smaller. */
  readonly workers?: number;
  /** Default: the top. */
  readonly cell?: string;
  readonly tenant?: string;
}

/** A tenant builds through the top. */
export function build(random: Random): Perform {
  return wants(random, { count: 1 + randomInt(random, 2), vcpus: 1 + randomInt(random, 2) });
}

/** More instances than one cell takes. */
export function buildMany(random: Random): Perform {
  return wants(random, { count: 5 + randomInt(random, 4), vcpus: 2 });
}

/** Several instances, a minimum of which must become ACTIVE. */
export function buildGang(random: Random): Perform {
  const count = 3 + randomInt(random, 4);
  return wants(random, { count, vcpus: 2, minCount: 2 + randomInt(random, count - 2) });
}

/** A leader and its workers: whole in one cell, or nowhere. */
export function buildGangOfKinds(random: Random): Perform {
  return wants(random, { vcpus: 2, minCount: 1, workers: 1 + randomInt(random, 4) });
}

export function buildInGroup(random: Random): Perform {
  const policy = pick(random, ['affinity', 'anti-affinity'] as const);
  return wants(random, { count: 1 + randomInt(random, 2), group: { id: policy, policy, maxPerHost: 1 } });
}

/** Members of a group that spreads over the zones of both cells. */
export function buildOverZones(random: Random): Perform {
  return wants(random, { count: 1 + randomInt(random, 2), group: OVER_ZONES });
}

const OVER_ZONES: ServerGroup = {
  id: 'over-zones',
  policy: 'soft-anti-affinity',
  maxPerHost: 1,
  spread: { by: ZONE_KEY, maxSkew: 1 },
};

/** Two first members of a group, placed concurrently by two schedulers of the top. */
export function beginGroup(random: Random): Perform {
  const tenant = pick(random, TENANTS);
  const group = { id: `${random.uuid()} affinity`, policy: 'affinity', maxPerHost: 1 } as const;
  const both = [wants(random, { group, tenant }), wants(random, { group, tenant })];
  return (run) => {
    for (const one of both) one(run);
  };
}

/** A tenant builds in one cell, past the top. */
export function buildInCell(random: Random): Perform {
  return wants(random, { cell: pick(random, CELLS), vcpus: 1 + randomInt(random, 2) });
}

export function wants(random: Random, wanted: Wanted): Perform {
  const { count = 1, vcpus = 1, group, minCount = 0, workers = 0, cell = TOP, tenant = pick(random, TENANTS) } = wanted;
  const instanceUuids = Array.from({ length: count + workers }, () => random.uuid());
  const requestId = random.uuid();
  const specOf = (amount: number) => {
    const spec = requestSpec({ VCPU: amount, MEMORY_MB: 256 }, { projectId: tenant, userId: 'user', group });
    return requestSpecCodec.encode(spec);
  };
  const requested = specOf(vcpus);
  const further = { requestSpec: specOf(1), count: workers, minCount: 1, name: 'worker' };
  return ({ fleet, checker }) => {
    const { bus } = fleet.member(`${cell}-${tenant}`);
    for (const uuid of instanceUuids) checker.wanted.set(uuid, cell);
    const request = { requestId, requestSpec: requested, count, name: '', instanceUuids, minCount };
    const ofKinds = workers > 0 ? { ...request, furtherMembers: [further] } : request;
    const sent = castTyped({ bus, queue: BUILD_REQUESTS }, buildRequestCodec, ofKinds, { id: requestId });
    void confirmed(sent).then((isConfirmed) => {
      if (isConfirmed) for (const uuid of instanceUuids) checker.asked.set(uuid, cell);
    });
  };
}

export function terminate(random: Random): Perform {
  const place = random.next();
  const isMany = random.next() < 0.3;
  return (run) => {
    const all = presentAt(run, TOP);
    const first = Math.floor(place * all.length);
    for (const one of all.slice(first, first + (isMany ? 4 : 1))) terminateNow(run, TOP, one);
  };
}

export function terminateInCell(random: Random): Perform {
  const place = random.next();
  const cell = pick(random, CELLS);
  return (run) => {
    const own = presentAt(run, cell).filter(({ uuid }) => run.checker.wanted.get(uuid) === cell);
    const one = own[Math.floor(place * own.length)];
    if (one) terminateNow(run, cell, one);
  };
}

/** A client terminates its request while a cell is chosen, or builds. */
export function buildAndTerminate(random: Random): Perform {
  const tenant = pick(random, TENANTS);
  const begin = wants(random, { tenant, vcpus: 1 });
  const afterMs = random.next() ** 3 * 2_500;
  return (run) => {
    const before = new Set(run.checker.wanted.keys());
    begin(run);
    const uuids = [...run.checker.wanted.keys()].filter((uuid) => !before.has(uuid));
    const { time } = run.fleet;
    time.at(time.nowMs + afterMs, () => {
      for (const uuid of uuids) terminateNow(run, TOP, { uuid, projectId: tenant });
    });
  };
}

/** An operator moves an instance to the other cell. */
export function moveToCell(random: Random): Perform {
  const place = random.next();
  return (run) => {
    const all = presentAt(run, TOP).filter(({ state, cell }) => state === 'active' && cell && !cell.move);
    const one = all[Math.floor(place * all.length)];
    const targetCell = CELLS.find((cell) => cell !== one?.cell?.name);
    if (one) operate(run, `${TOP}-operator`, one, { operation: 'migrate', targetCell });
  };
}

/** An operator stops members that count in zones, and moves them to the other cell, two concurrently. */
export function moveOverZones(random: Random): Perform {
  const place = random.next();
  const afterMs = 500 + random.next() * 1_500;
  return (run) => {
    const inZones = (state: Instance['state']) =>
      presentAt(run, TOP).filter((one) => one.state === state && one.cell?.zone !== undefined && !one.cell.move);
    const active = inZones('active');
    const first = Math.floor(place * active.length);
    const some = active.slice(first, first + 2);
    for (const one of some) operate(run, `${TOP}-operator`, one, { operation: 'stop' });
    run.fleet.later(afterMs, () => {
      for (const one of inZones('stopped')) {
        if (!some.some(({ uuid }) => uuid === one.uuid)) continue;
        const targetCell = CELLS.find((cell) => cell !== one.cell?.name);
        operate(run, `${TOP}-operator`, one, { operation: 'migrate', targetCell });
      }
    });
  };
}

export function stopOrStart(random: Random): Perform {
  const place = random.next();
  return (run) => {
    const all = presentAt(run, TOP).filter(({ state }) => state === 'active' || state === 'stopped');
    const one = all[Math.floor(place * all.length)];
    if (one === undefined) return;
    operate(run, `${TOP}-${one.projectId}`, one, { operation: one.state === 'active' ? 'stop' : 'start' });
  };
}

/** A tenant terminates an instance of another, and requests one in another's name, at the top or at a cell. */
export function namesOthers(random: Random): Perform {
  const cell = pick(random, [TOP, ...CELLS]);
  const [tenant, other] = random.next() < 0.5 ? TENANTS : TENANTS.toReversed();
  const place = random.next();
  const [requestId, uuid] = [random.uuid(), random.uuid()];
  const spec = requestSpecCodec.encode(requestSpec({ VCPU: 1 }, { projectId: other, userId: 'user' }));
  return (run) => {
    const { bus } = run.fleet.member(`${cell}-${tenant}`);
    const theirs = presentAt(run, cell).filter(({ projectId }) => projectId === other);
    const one = theirs[Math.floor(place * theirs.length)];
    const ends = { instanceUuid: one?.uuid ?? uuid, projectId: '' };
    void confirmed(castTyped({ bus, queue: BUILD_REQUESTS }, terminateInstanceCodec, ends));
    const request = { requestId, requestSpec: spec, count: 1, name: '', instanceUuids: [uuid], minCount: 0 };
    void confirmed(castTyped({ bus, queue: BUILD_REQUESTS }, buildRequestCodec, request, { id: requestId }));
  };
}

function operate(
  { fleet }: CellsRun,
  who: string,
  { uuid: instanceUuid, version }: Instance,
  what: Pick<OperateInstanceRequest, 'operation' | 'targetCell'>,
): void {
  const request = { instanceUuid, version, ...what };
  const { bus } = fleet.member(who);
  void confirmed(callMethod({ bus, queue: RPC_CONDUCTOR }, operateInstanceMethod, request, { timeoutMs: 5_000 }));
}

function terminateNow(
  { fleet, checker }: CellsRun,
  cell: string,
  { uuid: instanceUuid, projectId }: Pick<Instance, 'uuid' | 'projectId'>,
): void {
  checker.terminating.add(instanceUuid);
  const { bus } = fleet.member(`${cell}-${projectId}`);
  // A termination of an unknown instance is a no-op.
  const isThere = checker.storeOf(cell).instances.has(instanceUuid);
  void confirmed(
    castTyped({ bus, queue: BUILD_REQUESTS }, terminateInstanceCodec, { instanceUuid, projectId: '' }),
  ).then((isConfirmed) => isConfirmed && isThere && checker.terminated.add(instanceUuid));
}

function presentAt({ checker }: CellsRun, cell: string): Instance[] {
  const all = [...checker.storeOf(cell).instances.values()];
  return all.filter(({ state }) => state !== 'deleted' && state !== 'error');
}
