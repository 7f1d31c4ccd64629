import { callMethod } from '#libs/bus/typed-calls';
import { addAggregateHostMethod, createAggregateMethod } from '#libs/contracts/aggregates';
import { setCellStateMethod } from '#libs/contracts/cell-methods';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { setQuotaMethod } from '#libs/contracts/quotas';
import { TOP } from '#libs/domain/cells/cell';
import type { CellState } from '#libs/domain/cells/cell-summary';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { type Random, randomInt } from '#libs/domain/random';
import { confirmed, pick } from '../actions/common';
import { HORIZON_MS } from '../world/draw-plan';
import { cutFor, standStill } from '../world/faults';
import type { CellsRun, Perform } from './cells-checker';
import { CELLS, HOSTS, TENANTS, TOPS, ZONE_OF } from './cells-world';
import { LEASE_MS } from './settings';
import { moveToCell, terminateInCell, wants } from './tenants';

const CALL_MS = 2_000;

/** Operators put the hosts of their cells into zones, once they have reported. */
export function putIntoZones(run: CellsRun): void {
  for (const [place, zone] of Object.entries(ZONE_OF)) {
    const [cell = '', host = ''] = place.split('-');
    for (const atMs of PUT_AT_MS) run.fleet.later(atMs, () => void confirmed(putIntoZone(run, { cell, host, zone })));
  }
}

/** Until one goes through: nothing has been built there yet. */
const PUT_AT_MS = [300, 600, 1_000];

async function putIntoZone({ fleet }: CellsRun, { cell, host, zone }: Record<'cell' | 'host' | 'zone', string>) {
  const { bus } = fleet.member(`${cell}-operator`);
  const uuid = `bbbbbbbb-0000-4000-8000-00000000000${zone.slice(1)}`;
  const created = { uuid, name: zone, metadata: { [ZONE_KEY]: zone } };
  await callMethod({ bus, queue: RPC_SCHEDULER }, createAggregateMethod, created, { timeoutMs: CALL_MS });
  await callMethod(
    { bus, queue: RPC_SCHEDULER },
    addAggregateHostMethod,
    { aggregate: zone, host },
    { timeoutMs: CALL_MS },
  );
}

/** A tenant is limited at the top, perhaps below what it holds, or not any more. */
export function limitsTenant(random: Random): Perform {
  const projectId = pick(random, TENANTS);
  const limits = { VCPU: randomInt(random, 9) - 1, instances: randomInt(random, 7) - 1 };
  return (run) => void setQuota(run, projectId, limits);
}

/** A tenant has little left, and asks for several at once, each by itself, of which cells could take all. */
export function lastOfQuota(random: Random): Perform {
  const tenant = pick(random, TENANTS);
  const builds = Array.from({ length: 4 }, () => wants(random, { tenant }));
  return (run) => {
    const { instances = 0 } = run.checker.quotas.held(tenant);
    void setQuota(run, tenant, { VCPU: -1, instances: instances + 1 }).then(() => {
      for (const one of builds) one(run);
    });
  };
}

/** An operator takes a cell out of service for a while; what is there stays, or some of it is moved. */
export function cellOutOfService(random: Random): Perform {
  const cell = pick(random, CELLS);
  const state = pick(random, ['disabled', 'draining'] as const);
  const forMs = 1_000 + random.next() * 12_000;
  const moves = state === 'draining' ? Array.from({ length: 3 }, () => moveToCell(random)) : [];
  return (run) => {
    void setCellState(run, cell, state);
    moves.forEach((move, n) => run.fleet.later(500 + n * 700, () => move(run)));
    run.fleet.later(forMs, () => void setCellState(run, cell, 'enabled'));
  };
}

/** Nothing passes between the top and a cell for a while. */
export function cellUnreachable(random: Random): Perform {
  const cell = pick(random, CELLS);
  const forMs = 1_000 + random.next() * 14_000;
  return (run) => {
    run.fleet.note(TOP, `is cut off from cell ${cell}`);
    for (const link of run.fleet.linksTo(cell)) cutFor(run, link, forMs);
  };
}

/** All of the top is killed; it comes back when all other faults have been over for a while. */
export function topAway(random: Random): Perform {
  const afterMs = random.next() * 3_000;
  return ({ fleet, checker }) => {
    fleet.note(TOP, 'is away for long');
    checker.isTopAway = true;
    for (const name of TOPS) fleet.sendAway(name, HORIZON_MS + TOP_AWAY_MS + afterMs);
  };
}

/** After the last fault: what cells are to have ended by then, without the top. */
export const TOP_AWAY_MS = 30_000;

/** All schedulers of a cell die when one has selected, and stay away. */
export function schedulersDie(random: Random): Perform {
  const cell = pick(random, CELLS);
  const forMs = 3_000 + random.next() * 8_000;
  const begin = wants(random, { count: 2, vcpus: 1 });
  const after = 1 + randomInt(random, 6);
  return (run) => {
    const { fleet } = run;
    const schedulers = [`${cell}-scheduler-1`, `${cell}-scheduler-2`];
    const die = () => {
      for (const name of schedulers) fleet.kill(name, forMs);
      return false as const;
    };
    for (const name of schedulers) fleet.member(name).links[0]?.insteadOf('out', after, die);
    begin(run);
  };
}

/** A host's agent stands still for longer than its lease lasts, with orders on their way to it. */
export function hostStandsStill(random: Random): Perform {
  const cell = pick(random, CELLS);
  const agent = `${cell}-agent-${pick(random, HOSTS)}`;
  const builds = Array.from({ length: 3 }, () => wants(random, { cell }));
  const ends = Array.from({ length: 2 }, () => terminateInCell(random));
  const afterMs = random.next() * 600;
  const forMs = LEASE_MS + random.next() * 6_000;
  return (run) => {
    for (const one of [...builds, ...ends]) one(run);
    run.fleet.later(afterMs, () => standStill(run.fleet, agent, forMs));
  };
}

/** The top's schedulers stand still while cells fill up: what they know then is old. */
export function staleSummaries(random: Random): Perform {
  const cell = pick(random, CELLS);
  const builds = Array.from({ length: 4 }, () => wants(random, { cell, vcpus: 2 }));
  const later = Array.from({ length: 2 }, () => wants(random, { vcpus: 2 }));
  return (run) => {
    for (const name of TOPS.slice(0, 2)) standStill(run.fleet, name, 1_500);
    for (const one of builds) one(run);
    run.fleet.later(1_500, () => {
      for (const one of later) one(run);
    });
  };
}

function setQuota({ fleet }: CellsRun, projectId: string, limits: Readonly<Record<string, number>>): Promise<boolean> {
  const terms = { borrowLimits: {}, lendLimits: {}, cohort: undefined };
  const request = { projectId, userId: '', isDefault: false, version: 0, limits, ...terms };
  const { bus } = fleet.member(`${TOP}-operator`);
  return confirmed(callMethod({ bus, queue: RPC_SCHEDULER }, setQuotaMethod, request, { timeoutMs: CALL_MS }));
}

function setCellState({ fleet }: CellsRun, cell: string, state: CellState): Promise<boolean> {
  const { bus } = fleet.member(`${TOP}-operator`);
  const request = { cell, state, reason: state === 'enabled' ? '' : 'an operator' };
  return confirmed(callMethod({ bus, queue: RPC_SCHEDULER }, setCellStateMethod, request, { timeoutMs: CALL_MS }));
}
