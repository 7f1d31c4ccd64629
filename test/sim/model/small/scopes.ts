import {
  type ClaimStep,
  type Claims,
  type Expected,
  NO_CLAIMS,
  stepClaims,
  type Write,
  wrongWithClaims,
} from '../claims';
import { type LeaseStep, type Leases, stepLeases, wrongWithLeases } from '../leases';
import { type PoolStep, type Pools, stepPools, wrongWithPools } from '../pools';
import { NO_RECORDS, type RecordStep, type Records, stepRecords, type Version } from '../records';
import { type ReservationStep, type Reservations, stepReservations, wrongWithReservations } from '../reservations';
import type { Scope } from './model-world';

const VCPU = 'p VCPU';

const MOST_COMMITS = 3;

/**
 * Two consumers of one provider, which offers one or two; conductors claim, claim again and release, by each claim that there ever was,
 * however late; another client writes, and something is claimed by force.
 */
export const CLAIMS: Scope<Claims, ClaimStep> = {
  begin: NO_CLAIMS,
  tries: ({ lastToken, capacity }) => {
    const offered = capacity[VCPU] ?? 0;
    const steps: ClaimStep[] = [1, 2].filter((n) => n !== offered).map((n) => offer(n));
    const expected: Expected[] = [{ kind: 'any' }, { kind: 'absent' }];
    for (let token = 1; token <= lastToken; token++) expected.push({ kind: 'claim', token });
    const token = lastToken + 1;
    if (token > MOST_COMMITS) return named(steps);
    const write = (uuid: string, owner: string, amount: number, expects: Expected): Write => {
      const holds: Record<string, number> = amount === 0 ? {} : { [VCPU]: amount };
      return { uuid, owner, type: 'INSTANCE', project: 't', holds, expects };
    };
    const commit = (isForced: boolean, ...writes: Write[]) => steps.push({ kind: 'write', writes, isForced, token });
    for (const expects of expected) {
      for (const amount of [0, 1, 2]) {
        commit(false, write('x', 'conductor', amount, expects));
        commit(false, write('x', 'conductor', amount, expects), write('y', 'conductor', 1, { kind: 'any' }));
      }
    }
    commit(false, write('y', 'api', 1, { kind: 'any' }));
    commit(false, write('x', 'api', 0, { kind: 'any' }));
    commit(true, write('y', 'conductor', 2, { kind: 'any' }));
    return named(steps);
  },
  step: stepClaims,
  wrong: wrongWithClaims,
};

function offer(amount: number): ClaimStep {
  return { kind: 'offer', provider: 'p', capacity: { [VCPU]: amount } };
}

const LONG_MS = 4;
const LEASE_MS = 2;

/** Two runs of an agent take the lease of a host, renew it and give it back, are late, and write under each epoch; a clock goes on. */
export const LEASES: Scope<{ readonly nowMs: number; readonly leases: Leases }, LeaseStep | 'time passes'> = {
  begin: { nowMs: 1, leases: {} },
  tries: ({ nowMs: atMs }) => {
    const steps: (LeaseStep | 'time passes')[] = atMs < LONG_MS ? ['time passes'] : [];
    const name = 'h';
    for (const holder of ['one', 'other']) {
      steps.push({ kind: 'release', name, holder, atMs });
      for (let epoch = 1; epoch <= 3; epoch++) {
        steps.push({ kind: 'acquire', name, holder, leaseMs: LEASE_MS, epoch, atMs });
        steps.push({ kind: 'acquire', name, holder, leaseMs: LEASE_MS, epoch, former: 'one', atMs });
      }
    }
    for (const kind of ['report', 'write', 'fenced write'] as const) {
      for (let epoch = 0; epoch <= 3; epoch++) steps.push({ kind, name, epoch, atMs });
    }
    return named([...steps, { kind: 'forget', name, atMs }]);
  },
  step: ({ nowMs, leases }, step) => {
    if (step === 'time passes') return { nowMs: nowMs + 1, leases };
    const next = stepLeases(leases, step);
    return 'broken' in next ? (next as never) : { nowMs, leases: next };
  },
  wrong: (before, after, step) =>
    step === 'time passes' ? undefined : wrongWithLeases(before.leases, after.leases, step),
};

/** Two service hosts, one of them with two runs, join a pool and leave it, under each epoch; a clock goes on. */
export const POOLS: Scope<{ readonly nowMs: number; readonly pools: Pools }, PoolStep | 'time passes'> = {
  begin: { nowMs: 1, pools: {} },
  tries: ({ nowMs: atMs }) => {
    const steps: (PoolStep | 'time passes')[] = atMs < LONG_MS ? ['time passes'] : [];
    for (const [service, run] of [
      ['a', 'a1'],
      ['a', 'a2'],
      ['b', 'b1'],
    ] as const) {
      const who = { pool: 'gold', service, run };
      steps.push({ kind: 'leave', ...who });
      for (const members of [['a'], ['b'], ['a', 'b']]) {
        for (let epoch = 1; epoch <= 4; epoch++) {
          steps.push({ kind: 'join', ...who, atMs, weight: 1, leaseMs: LEASE_MS, epoch, members });
        }
      }
    }
    return named(steps);
  },
  step: ({ nowMs, pools }, step) => {
    if (step === 'time passes') return { nowMs: nowMs + 1, pools };
    const next = stepPools(pools, step);
    return 'broken' in next ? (next as never) : { nowMs, pools: next };
  },
  wrong: (before, after, step) =>
    step === 'time passes' ? undefined : wrongWithPools(before.pools, after.pools, step),
};

/** One instance at a top, two cells, and every order of recording, reserving and sending. */
export const RESERVATIONS: Scope<Reservations, ReservationStep> = {
  begin: {},
  tries: () => {
    const uuid = 'x';
    const steps: ReservationStep[] = ['reserve', 'unreserve'].map((kind) => ({
      kind: kind as 'reserve',
      uuids: [uuid],
    }));
    for (const state of ['scheduling', 'active', 'error', 'deleted']) {
      for (const cells of [[], ['a'], ['b'], ['a', 'b']]) steps.push({ kind: 'record', uuid, state, cells });
    }
    for (const cell of ['a', 'b']) steps.push({ kind: 'give', cell, uuids: [uuid] });
    return named(steps);
  },
  step: stepReservations,
  wrong: (_, after) => wrongWithReservations(after),
};

/** A record that changes while its events are told, late, twice, or in any order, and leave the outbox. */
export const EVENTS: Scope<Records, RecordStep> = {
  begin: NO_RECORDS,
  tries: ({ records: { x } }) => {
    if (x === undefined) return named([{ kind: 'create', next: begun }]);
    const steps: RecordStep[] = [];
    for (const state of x.version < 4 ? ['building', 'active', 'error', 'deleting', 'deleted'] : []) {
      steps.push({ kind: 'update', next: { ...x, version: x.version + 1, state } });
    }
    for (let version = 1; version <= x.version + 1; version++) {
      steps.push({ kind: 'mark', uuid: 'x', version });
      for (const state of ['scheduling', 'active']) steps.push({ kind: 'publish', uuid: 'x', version, state });
    }
    return named(steps);
  },
  step: stepRecords,
  wrong: (_, after) => {
    const told = new Set(after.published['x']?.map((words) => Number(words.split(' ')[0])));
    for (let version = 1; version <= (after.records['x']?.version ?? 0); version++) {
      const isKept = after.outbox['x']?.includes(version);
      if (!told.has(version) && !isKept) return `version ${version} is told to nobody, and not in the outbox`;
    }
    return undefined;
  },
};

const begun: Version = {
  uuid: 'x',
  version: 1,
  state: 'scheduling',
  host: undefined,
  attempt: 0,
  begun: [],
  token: undefined,
};

function named<T>(steps: readonly T[]): ReadonlyMap<string, T> {
  return new Map(steps.map((step) => [typeof step === 'string' ? step : JSON.stringify(step), step]));
}
