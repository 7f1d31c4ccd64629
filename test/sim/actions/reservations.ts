import { callMethod } from '#libs/bus/typed-calls';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { createReservationMethod, deleteReservationMethod } from '#libs/contracts/reservations';
import { type Admission, NO_ADMISSION } from '#libs/domain/queueing/admission';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { HOSTS } from '../settings';
import { confirmed, type Perform, pick, type World } from './common';
import { type Request, send, tenant } from './tenants/requests';

const NAMES = ['dawn', 'noon', 'night'];
const CALL = { timeoutMs: 1_000 };

interface Terms {
  readonly name: string;
  readonly who: string;
  readonly count: number;
  readonly vcpus: number;
  /** Hosts that the units must have; any when empty. */
  readonly forceHosts: readonly string[];
  readonly beginsInMs: number;
  readonly lastsMs: number;
}

/** An operator reserves units for a tenant, on hosts of its choice or any; the window is open, or begins in a while. */
export function reserveUnits(random: Random): Perform {
  const terms = someTerms(random);
  return (world) => void reserve(world, terms);
}

export function deleteReservation(random: Random): Perform {
  const name = pick(random, NAMES);
  return (world) => endReservation(world, name);
}

function endReservation({ fleet }: World, name: string): void {
  const on = { bus: fleet.member('operator').bus, queue: RPC_SCHEDULER };
  void confirmed(callMethod(on, deleteReservationMethod, { name }, CALL));
}

/** A tenant builds in a reservation, which may not be open, or not its own. */
export function buildInReservation(random: Random): Perform {
  const waitForCapacityMs = random.next() < 0.6 ? 4_000 + randomInt(random, 12_000) : 0;
  const requests = Array.from({ length: 1 + randomInt(random, 3) }, () => {
    return wanted(random, tenant(random), { reservation: pick(random, NAMES), admission: { waitForCapacityMs } });
  });
  return (world) => {
    for (const request of requests) send(world, request);
  };
}

/** Tenants fill the gap before windows: what ends in time, what does not, and what lasts. */
export function backfill(random: Random): Perform {
  const requests = Array.from({ length: 2 + randomInt(random, 3) }, () => {
    const timeLimitMs = random.next() < 0.7 ? 1_000 + randomInt(random, 8_000) : 0;
    return wanted(random, tenant(random), { admission: { timeLimitMs } });
  });
  return (world) => {
    for (const request of requests) send(world, request);
  };
}

/**
 * A window that begins in a few seconds: others fill the gap, and as it opens its tenant asks for more than its units, several at
 * once, while others ask, too. Then it may be deleted, and its capacity is everybody's.
 */
export function windowBeginsSoon(random: Random): Perform {
  const terms = { ...someTerms(random), beginsInMs: 1_500 + randomInt(random, 4_000) };
  const fills = backfill(random);
  const { name: reservation, who } = terms;
  const own = Array.from({ length: terms.count + 2 }, () => {
    return wanted(random, who, { reservation, vcpus: terms.vcpus, admission: { waitForCapacityMs: 3_000 } });
  });
  const others = Array.from({ length: 4 }, () => wanted(random, tenant(random), {}));
  const isDeleted = random.next() < 0.4;
  return (world) => {
    const { fleet } = world;
    void reserve(world, terms);
    fleet.later(300, () => fills(world));
    fleet.later(terms.beginsInMs + 200, () => {
      for (const request of [...own, ...others]) send(world, request);
    });
    if (!isDeleted) return;
    fleet.later(terms.beginsInMs + 2_000, () => endReservation(world, reservation));
    fleet.later(terms.beginsInMs + 4_000, () => fills(world));
  };
}

/** Kinds of actions after which a reservation is used once more, when there are no more faults. */
export const RESERVING: readonly string[] = ['reserve units', 'window begins soon'];
/** After the faults: hosts that died are settled by then. */
const USED_AFTER_MS = 20_000;
export const LAST = {
  name: 'last',
  who: 'tenant-a',
  count: 2,
  vcpus: 1,
  forceHosts: [],
  beginsInMs: 6_000,
  lastsMs: 10_000,
};
/** An instance that ends so long before a window is gone when it begins: conductors look for overdue ones every two seconds. */
const ENDED_MS = 1_500;

/**
 * Without faults an operator reserves units, others fill the gap and ask for all the rest, and in its window the tenant gets what is
 * reserved; by then what was to end in time is gone.
 */
export function useReservation(world: World, random: Random): void {
  const { fleet, checker } = world;
  const others = Array.from({ length: 8 }, (_, n) => {
    return wanted(random, 'tenant-b', { vcpus: 1, admission: { timeLimitMs: n % 2 === 0 ? 1_500 : 0 } });
  });
  const own = Array.from({ length: LAST.count }, () => wanted(random, LAST.who, { reservation: LAST.name, vcpus: 1 }));
  fleet.later(USED_AFTER_MS, () => {
    for (const machine of fleet.machines.values()) machine.failureShare = 0;
    void reserve(world, LAST).then((isReserved) => {
      if (!isReserved) return;
      for (const request of others) send(world, request);
      fleet.later(LAST.beginsInMs + 300, () => {
        const late = checker.reservations.late(LAST.name, ENDED_MS);
        if (late) checker.fail('reservations are kept', late);
        for (const request of own) {
          checker.reservations.ownUnits.push(...request.uuidsIn(world));
          send(world, request);
        }
      });
    });
  });
}

function someTerms(random: Random): Terms {
  return {
    name: pick(random, NAMES),
    who: tenant(random),
    count: 1 + randomInt(random, 3),
    vcpus: 1 + randomInt(random, 2),
    forceHosts: random.next() < 0.3 ? [pick(random, HOSTS)] : [],
    beginsInMs: random.next() < 0.3 ? -1_000 : randomInt(random, 15_000),
    // Some outlast the run.
    lastsMs: random.next() < 0.3 ? 3_600_000 : 3_000 + randomInt(random, 30_000),
  };
}

/** Reserves by an operator's call; true once it is confirmed. */
export function reserve(
  { fleet }: World,
  { name, who, count, vcpus, forceHosts, beginsInMs, lastsMs }: Terms,
): Promise<boolean> {
  const fromMs = Math.max(0, Math.round(fleet.time.nowMs + beginsInMs));
  const resources = { VCPU: vcpus, MEMORY_MB: 64 };
  const spec = requestSpec(resources, { projectId: who, userId: 'operator', forceHosts });
  const reservation = { name, fromMs, untilMs: fromMs + lastsMs, count, requestSpec: spec };
  const on = { bus: fleet.member('operator').bus, queue: RPC_SCHEDULER };
  return confirmed(callMethod(on, createReservationMethod, { reservation }, CALL));
}

interface Wanted {
  readonly reservation?: string;
  readonly vcpus?: number;
  readonly admission?: Partial<Admission>;
}

/** A request for one instance. */
export function wanted(
  random: Random,
  who: string,
  { reservation, vcpus = 1 + randomInt(random, 2), admission = {} }: Wanted,
): Request {
  const [uuid, requestId] = [random.uuid(), random.uuid()];
  const spec = requestSpec({ VCPU: vcpus, MEMORY_MB: 64 }, { projectId: who, userId: 'user', reservation });
  const about = { who, requestId, uuidsIn: () => [uuid], requestSpec: requestSpecCodec.encode(spec) };
  return { ...about, admission: { ...NO_ADMISSION, ...admission } };
}
