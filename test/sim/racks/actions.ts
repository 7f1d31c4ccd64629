import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { addAggregateHostMethod, createAggregateMethod } from '#libs/contracts/aggregates';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { deleteGuaranteeMethod, setGuaranteeMethod } from '#libs/contracts/guarantees';
import { setHostEnabledMethod } from '#libs/contracts/hosts';
import { BUILD_REQUESTS, RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Guarantee } from '#libs/domain/grouping/guarantee';
import { NO_ADMISSION } from '#libs/domain/queueing/admission';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import type { ServerGroup } from '#libs/domain/server-group';
import { confirmed, pick } from '../actions/common';
import type { Perform, RacksRun } from './racks-checker';
import { HOSTS, RACKS, TENANTS } from './settings';

const CALL_MS = 1_000;
/** The highest priority of a request; guarantees cover all, or these alone. */
const HIGH = 5;

/** Operators put the hosts into their racks, once they have reported; until one goes through. */
export function putIntoRacks(run: RacksRun): void {
  for (const [rack, hosts] of Object.entries(RACKS)) {
    const uuid = `cccccccc-0000-4000-8000-00000000000${rack.slice(1)}`;
    for (const atMs of [300, 600, 1_000, 2_000]) {
      run.fleet.later(atMs, () => void confirmed(putIntoRack(run, { uuid, name: rack, hosts })));
    }
  }
}

async function putIntoRack(
  { fleet }: RacksRun,
  { uuid, name, hosts }: { readonly uuid: string; readonly name: string; readonly hosts: readonly string[] },
) {
  const to = { bus: fleet.member('operator').bus, queue: RPC_SCHEDULER };
  const created = { uuid, name, metadata: { rack: name } };
  await callMethod(to, createAggregateMethod, created, { timeoutMs: CALL_MS });
  for (const host of hosts) {
    await callMethod(to, addAggregateHostMethod, { aggregate: name, host }, { timeoutMs: CALL_MS });
  }
}

interface Wanted {
  readonly count: number;
  readonly vcpus: number;
  readonly priority?: number;
  readonly group?: ServerGroup;
}

export function build(random: Random): Perform {
  const count = 1 + randomInt(random, 2);
  return wants(random, { count, vcpus: 1 + randomInt(random, 3), priority: random.next() < 0.3 ? HIGH : 0 });
}

/** Several requests at the same moment: both schedulers decide before they hear of each other. */
export function buildAtOnce(random: Random): Perform {
  const all = Array.from({ length: 2 + randomInt(random, 3) }, () => build(random));
  return (run) => {
    for (const one of all) one(run);
  };
}

export function buildInGroup(random: Random): Perform {
  const policy = pick(random, ['affinity', 'anti-affinity'] as const);
  const id = `${random.uuid()} ${policy}`;
  return wants(random, { count: 1 + randomInt(random, 2), vcpus: 1, group: { id, policy, maxPerHost: 1 } });
}

function wants(random: Random, { count, vcpus, priority = 0, group }: Wanted): Perform {
  const tenant = pick(random, TENANTS);
  const instanceUuids = Array.from({ length: count }, () => random.uuid());
  const requestId = random.uuid();
  const resources = { VCPU: vcpus, MEMORY_MB: 64 };
  const spec = requestSpec(resources, { projectId: tenant, userId: 'user', group, rebuildPolicy: 'evacuate' });
  const admission = { ...NO_ADMISSION, priority };
  const about = { requestId, requestSpec: requestSpecCodec.encode(spec), count, name: '', instanceUuids, minCount: 0 };
  return ({ fleet, checker }) => {
    const { bus } = fleet.member(tenant);
    const sent = castTyped(
      { bus, queue: BUILD_REQUESTS },
      buildRequestCodec,
      { ...about, admission },
      { id: requestId },
    );
    void confirmed(sent).then((isConfirmed) => {
      if (isConfirmed) for (const uuid of instanceUuids) checker.asked.add(uuid);
    });
  };
}

export function terminate(random: Random): Perform {
  const place = random.next();
  return ({ fleet, checker }) => {
    const all = [...checker.records.values()].filter(({ state }) => state !== 'deleted');
    const { uuid: instanceUuid, projectId } = all[Math.floor(place * all.length)] ?? {};
    if (instanceUuid === undefined || projectId === undefined) return;
    const to = { bus: fleet.member(projectId).bus, queue: BUILD_REQUESTS };
    void confirmed(castTyped(to, terminateInstanceCodec, { instanceUuid, projectId }));
  };
}

/** One of several guarantees at a time, of a host, two hosts or a rack; for all, or for those of a high priority. */
export function setGuarantee(random: Random): Perform {
  const [lose, count] = pick(random, [
    ['rack', 1],
    ['rack', 1],
    ['host', 1],
    ['host', 2],
  ] as const);
  const guarantee: Guarantee = {
    name: pick(random, NAMES),
    lose,
    count,
    aggregate: '',
    minPriority: random.next() < 0.3 ? HIGH : 0,
    policy: random.next() < 0.75 ? 'refuse' : 'flag',
    updatedAtMs: 0,
  };
  return ({ fleet }) => {
    const to = { bus: fleet.member('operator').bus, queue: RPC_SCHEDULER };
    void confirmed(callMethod(to, setGuaranteeMethod, { guarantee }, { timeoutMs: CALL_MS }));
  };
}

export function deleteGuarantee(random: Random): Perform {
  const name = pick(random, NAMES);
  return ({ fleet }) => {
    const to = { bus: fleet.member('operator').bus, queue: RPC_SCHEDULER };
    void confirmed(callMethod(to, deleteGuaranteeMethod, { name }, { timeoutMs: CALL_MS }));
  };
}

const NAMES = ['first', 'second', 'third'];

/** The next reports of a host offer less, or all again. */
export function machineShrinks(random: Random): Perform {
  const host = pick(random, HOSTS);
  const share = pick(random, [0.25, 0.5, 0.75, 1]);
  return ({ fleet }) => {
    fleet.note(host, `offers ${share} of its capacity`);
    fleet.machines.get(host)?.resize(share);
  };
}

export function novaClaims(random: Random): Perform {
  const uuid = random.uuid();
  const host = pick(random, HOSTS);
  const VCPU = 1 + randomInt(random, 2);
  return ({ checker }) => {
    const root = checker.roots.get(host);
    if (root !== undefined) void confirmed(checker.claimAsNova(uuid, { [root]: { VCPU } }));
  };
}

export function novaReleases(random: Random): Perform {
  const place = random.next();
  return ({ checker }) => {
    const all = [...checker.foreign];
    const uuid = all[Math.floor(place * all.length)];
    if (uuid !== undefined) void confirmed(checker.claimAsNova(uuid, {}));
  };
}

export function hostDisabled(random: Random): Perform {
  const host = pick(random, HOSTS);
  const forMs = 1_000 + random.next() * 8_000;
  return ({ fleet }) => {
    const { bus } = fleet.member('operator');
    const set = (enabled: boolean) => {
      const request = { host, enabled, reason: enabled ? '' : 'an operator' };
      void confirmed(callMethod({ bus, queue: RPC_SCHEDULER }, setHostEnabledMethod, request, { timeoutMs: CALL_MS }));
    };
    set(false);
    fleet.later(forMs, () => set(true));
  };
}

/** A host is dead until its instances are elsewhere, and comes back. */
export function hostDies(random: Random): Perform {
  const host = pick(random, HOSTS);
  const untilMs = 30_000 + random.next() * 6_000;
  return ({ fleet }) => fleet.sendAway(`agent-${host}`, untilMs);
}
