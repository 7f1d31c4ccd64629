import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Instance, InstanceState } from '#libs/domain/instance';
import { addResources } from '#libs/domain/inventory';
import { readConfig } from '#libs/runtime/config';
import { conductorOptions } from '../../conductor/options';
import { schedulerOptions } from '../../scheduler/options';
import { rowsOf } from '../fork/rows-of';
import type { Operation, Refused } from '../operations/operation';
import { heardIn, perform, silencedBy } from '../operations/perform';
import { askedIn, play } from '../operations/traffic';
import { checkAtEnd } from '../outcome/check-at-end';
import { measureUse } from '../outcome/measure-use';
import type { Outcome } from '../outcome/outcome';
import { type ForkedFleet, RehearsedFleet } from '../world/rehearsed-fleet';
import { breakServer, killMeanwhile } from './kills';
import type { RehearsalOptions } from './options';

const STEP_MS = 250;
/** An operation is over when nothing has changed for this long. */
const QUIET_MS = 5_000;
const MARGIN_MS = 30_000;
/** Instances in other states are on their way. */
const AT_REST: readonly InstanceState[] = [
  'active',
  'stopped',
  'unknown',
  'pending',
  'shelved_offloaded',
  'error',
  'deleted',
];

/** Rehearses an operation once, on a fork of its own. The same seed gives the same outcome. */
export async function rehearseOnce(fork: ForkedFleet, options: RehearsalOptions, seed: number): Promise<Outcome> {
  const { operation, kills, limitMs, traffic = [] } = options;
  const fleet = new RehearsedFleet(seed, fork, { silent: silencedBy(operation), heard: heardIn(operation) });
  // Their orders were in the broker, so they wait for a deadline: no part of the operation.
  const underWay = fork.snapshot.instances.filter(({ state }) => !AT_REST.includes(state)).map(({ uuid }) => uuid);
  const changes = watchRecords(fleet, new Set(underWay));
  const client = await fleet.start();
  const startedMs = fleet.time.nowMs;
  const ending = new AbortController();
  killMeanwhile(fleet, kills, ending.signal);
  const refused: Omit<Refused, 'resources'>[] = [];
  const performing = new AbortController();
  let endedMs: number | undefined;
  let thrown: unknown;
  const performer = {
    client,
    clock: fleet.operator.process.clock,
    signal: performing.signal,
    onRefused: (one: Omit<Refused, 'resources'>) => refused.push(one),
    switchOff: (host: string) => fleet.switchOff(host),
    stop: (host: string, forMs: number) => fleet.stopAgent(host, forMs),
    breakServer: (of: 'broker' | 'store', forMs: number) => breakServer(fleet, of, forMs),
  };
  let performedMs: number | undefined;
  const performed = perform(performer, operation).then(() => {
    performedMs = fleet.time.nowMs;
  });
  Promise.all([performed, play(performer, traffic)])
    .catch((error: unknown) => {
      thrown = error;
    })
    .finally(() => {
      endedMs = fleet.time.nowMs;
    });
  const quietMs = quietness(fork, operation, fleet);
  const isOver = async () => {
    if (endedMs === undefined) return false;
    if (fleet.time.nowMs - Math.max(endedMs, changes.lastMs) < (await quietMs())) return false;
    return isAtRest(fleet, underWay);
  };
  while (!(await isOver()) && fleet.time.nowMs < startedMs + limitMs)
    await fleet.time.runUntil(fleet.time.nowMs + STEP_MS);
  const hasEnded = await isOver();
  ending.abort();
  performing.abort();
  if (thrown !== undefined) throw thrown;
  // While tenants go on, an operation lasts as long as its command.
  const isAlone = traffic.length === 0 || operation.kind === 'traffic';
  const lastMs = isAlone ? Math.max(endedMs ?? fleet.time.nowMs, changes.lastMs) : (performedMs ?? fleet.time.nowMs);
  const after = await fleet.placement.image();
  const records: Instance[] = [];
  await fleet.server.stores.instances.scan(async (rows) => void records.push(...rows));
  fleet.server.close();
  return {
    ...outcomeOf(fork, { records, after, refused, asked: askedIn(traffic) }),
    seed,
    tookMs: Math.round((hasEnded ? lastMs : fleet.time.nowMs) - startedMs),
    isOver: hasEnded,
    broken: checkAtEnd({ before: fork.image, after, records, instancesOn: (host) => fleet.instancesOn(host) }),
    arrivalsMs: changes.arrivalsMs.map((atMs) => Math.round(atMs - startedMs)),
    stepCount: fleet.time.stepCount,
  };
}

/** True when nothing is on its way but what was when the fleet was read. */
async function isAtRest({ server }: RehearsedFleet, underWay: readonly string[]): Promise<boolean> {
  const { instances } = server.stores;
  const counts = await instances.countStates();
  const moving = [...counts].reduce((sum, [state, count]) => sum + (AT_REST.includes(state) ? 0 : count), 0);
  if (moving === 0 || moving > underWay.length) return moving === 0;
  const still = (await instances.get(underWay)).filter(({ state }) => !AT_REST.includes(state));
  return still.length === moving;
}

interface AtEnd {
  readonly records: readonly Instance[];
  readonly after: ForkedFleet['image'];
  readonly refused: readonly Omit<Refused, 'resources'>[];
  /** Instances that tenants requested meanwhile. */
  readonly asked: ReadonlySet<string>;
}

/** The changes that the operation made to the fleet. */
function outcomeOf(fork: ForkedFleet, { records, after, refused, asked }: AtEnd) {
  const byUuid = new Map(records.map((one) => [one.uuid, one]));
  const consumers = rowsOf(after, 'consumer');
  const resourcesOf = (uuid: string) => Object.values(consumers.get(uuid)?.allocations ?? {}).reduce(addResources, {});
  const known = new Set(fork.snapshot.instances.map(({ uuid }) => uuid));
  const added = records.filter(({ uuid }) => !known.has(uuid) && !asked.has(uuid));
  const ofTenants = records.filter(({ uuid }) => asked.has(uuid));
  const pairs = fork.snapshot.instances.map((one) => [one, byUuid.get(one.uuid)] as const);
  return {
    moved: pairs.filter(([was, is]) => is?.host !== undefined && was.host !== undefined && is.host !== was.host).length,
    built:
      added.filter(({ state }) => state === 'active').length +
      pairs.filter(([was, is]) => was.state === 'pending' && is?.state === 'active').length,
    retries:
      pairs.reduce((sum, [was, is]) => sum + newAttempts(was, is, FAILED), 0) +
      added.reduce((sum, is) => sum + countOf(is, FAILED), 0),
    refused: refused.map((one) => ({ ...one, resources: resourcesOf(one.uuid) })),
    preempted: pairs.filter(([was, is]) => is !== undefined && gaveWay(is) > gaveWay(was)).length,
    waiting:
      pairs.filter(([was, is]) => is?.state === 'pending' && was.state !== 'pending').length +
      added.filter(({ state }) => state === 'pending').length,
    failed: pairs.filter(([was, is]) => is?.state === 'error' && was.state !== 'error').length,
    unplaced: ofTenants.filter(({ state }) => state === 'error' || state === 'pending').length,
    before: measureUse(fork.image),
    after: measureUse(after),
  };
}

const FAILED: readonly string[] = ['failed', 'refused', 'timed_out', 'not_claimed'];

/** Attempts since then with one of these outcomes. */
function newAttempts(was: Instance, is: Instance | undefined, outcomes: readonly string[]): number {
  return is === undefined ? 0 : countOf(is, outcomes) - countOf(was, outcomes);
}

/** Times that an instance was preempted: it waits again, or ended in ERROR. */
function gaveWay(instance: Instance): number {
  return countOf(instance, ['preempted']) + (instance.fault?.reason === 'preempted' ? 1 : 0);
}

function countOf({ attempts }: Instance, outcomes: readonly string[]): number {
  return attempts.filter(({ outcome }) => outcomes.includes(outcome)).length;
}

/**
 * The time without changes after which an operation is over. A lost host is down only after its timeout, and its instances are rebuilt
 * later still.
 */
function quietness(
  { settings, snapshot }: ForkedFleet,
  operation: Operation,
  fleet: RehearsedFleet,
): () => Promise<number> {
  if (operation.kind !== 'lose') return async () => QUIET_MS;
  const { hosts } = operation;
  const { hostTimeoutMs } = readConfig(schedulerOptions, settings);
  const { rebuildAfterMs } = readConfig(conductorOptions, settings);
  const wants = ({ host = '', requestSpec }: Instance) =>
    hosts.includes(host) && requestSpecCodec.decode(requestSpec).rebuildPolicy === 'evacuate';
  const rebuilt = snapshot.instances.filter(wants).map(({ uuid }) => uuid);
  return async () => {
    const { instances, placement } = fleet.server.stores;
    if ((await placement.hosts(hosts)).some(({ up }) => up)) return hostTimeoutMs + MARGIN_MS;
    const left = (await instances.get(rebuilt)).some(({ host = '' }) => hosts.includes(host));
    return left ? rebuildAfterMs + MARGIN_MS : QUIET_MS;
  };
}

/** Times of changes to records, and of the arrivals of instances; those of `underWay` do not count. */
function watchRecords({ server, time }: RehearsedFleet, underWay: ReadonlySet<string>) {
  const changes = { lastMs: 0, arrivalsMs: [] as number[] };
  server.onWrite = (_by, what) => {
    const [, uuid = '', state] = BECOMES.exec(what) ?? [];
    if (state === undefined || underWay.has(uuid)) return;
    changes.lastMs = time.nowMs;
    if (state === 'active' || state === 'stopped') changes.arrivalsMs.push(time.nowMs);
  };
  return changes;
}

/** The wording of `simulatedStores` for an update. */
const BECOMES = /(\S+) becomes (\w+),/;
