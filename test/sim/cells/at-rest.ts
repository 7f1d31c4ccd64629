import { requestSpecCodec } from '#libs/contracts/request-spec';
import { TOP } from '#libs/domain/cells/cell';
import type { Instance } from '#libs/domain/instance';
import { instanceOfConsumer } from '#libs/domain/moves/migration';
import { circling } from '../world/circling';
import { compareSets } from '../world/compare-sets';
import type { CellsChecker } from './cells-checker';
import { CELLS, type CellsWorld, cellOf, ZONE_OF } from './cells-world';

const ENDS: readonly string[] = ['active', 'stopped', 'error', 'deleted'];
/** States of an operation that is still under way. */
const IN_WORK: readonly string[] = ['scheduling', 'building', 'rebuilding', 'deleting', 'stopping', 'starting'];

/** Instances of a cell come to rest there while the top is away. */
export function checkWithoutTop(checker: CellsChecker): void {
  for (const cell of CELLS) {
    for (const { uuid, state } of checker.storeOf(cell).instances.values()) {
      if (!IN_WORK.includes(state) || checker.forgiven.has(uuid)) continue;
      checker.fail('cells go on without the top', `${uuid} in cell ${cell} is ${state} while the top is away`);
    }
  }
}

/** Invariants of cells and their top that have had neither faults nor requests for a while. */
export async function checkAtRest(world: CellsWorld, checker: CellsChecker): Promise<void> {
  checkEnds(checker);
  for (const cell of CELLS) checkCell(world, checker, cell);
  checkTop(checker);
  checkGangs(checker);
  checkGroups(checker);
  checkZones(checker);
  const usages = await world.serversOfCell(TOP).server.stores.placement.projectUsages();
  for (const projectId of checker.quotas.miscounted(usages)) {
    checker.fail('quotas are kept', `the top counts something else than ${projectId} holds`);
  }
  const round = circling(world.history, world.time.nowMs);
  if (round) checker.fail('queues are empty at rest', round);
}

function checkEnds(checker: CellsChecker): void {
  for (const [uuid, cell] of checker.asked) {
    if (checker.storeOf(cell).instances.has(uuid) || checker.forgiven.has(uuid)) continue;
    checker.fail('every request ends', `${uuid} was asked for, and there is no record in ${cell}`);
  }
  for (const [cell, { instances }] of checker.stores) {
    for (const { uuid, state } of instances.values()) {
      if (checker.forgiven.has(uuid)) continue;
      if (!ENDS.includes(state)) checker.fail('every request ends', `${uuid} in ${cell} rests in ${state}`);
      if (checker.terminated.has(uuid) && state !== 'deleted' && state !== 'error') {
        checker.fail('every request ends', `${uuid} was terminated and rests in ${state} in ${cell}`);
      }
    }
  }
}

/** In each cell an instance runs, is on record and holds its claim, or none of these. */
function checkCell(world: CellsWorld, checker: CellsChecker, cell: string): void {
  const { instances, consumers } = checker.storeOf(cell);
  const machines = [...world.machines].filter(([name]) => cellOf(name) === cell).map(([, machine]) => machine);
  const uuidsOf = (how: 'running' | 'stopped') => machines.flatMap((machine) => [...machine[how].keys()]);
  const recordedAs = (wanted: string) =>
    [...instances.values()].filter(({ state }) => state === wanted).map(({ uuid }) => uuid);
  const claimed = [...consumers.values()]
    .filter(({ owner }) => owner === 'conductor')
    .map(({ uuid, consumerType }) => instanceOfConsumer({ uuid, consumerType }));
  const wrong = (uuid: string, what: string) => {
    if (!checker.forgiven.has(uuid)) checker.fail('claims are what runs', `${uuid} ${what} in cell ${cell}`);
  };
  const compare = (first: readonly string[], second: readonly string[], isFirst: string, isSecond: string) =>
    compareSets(first, second, {
      onlyFirst: (uuid) => wrong(uuid, `is ${isFirst}, and is not ${isSecond},`),
      onlySecond: (uuid) => wrong(uuid, `is ${isSecond}, and is not ${isFirst},`),
    });
  compare(recordedAs('active'), uuidsOf('running'), 'ACTIVE', 'running');
  compare(recordedAs('stopped'), uuidsOf('stopped'), 'STOPPED', 'kept there');
  compare(claimed, [...uuidsOf('running'), ...uuidsOf('stopped')], 'claimed', 'there');
}

/** A gang of several kinds is whole in one cell, but for members that were moved. */
function checkGangs(checker: CellsChecker): void {
  const cellsOf = new Map<string, Set<string>>();
  for (const { uuid, requestId, gang, state, cell } of checker.storeOf(TOP).instances.values()) {
    const isThere = (state === 'active' || state === 'stopped') && cell?.requestId === undefined;
    if (gang?.kind === undefined || cell === undefined || !isThere || checker.forgiven.has(uuid)) continue;
    cellsOf.set(requestId, (cellsOf.get(requestId) ?? new Set()).add(cell.name));
  }
  for (const [requestId, cells] of cellsOf) {
    if (cells.size > 1) checker.fail('one cell each', `the gang ${requestId} is in ${[...cells].join(' and ')}`);
  }
}

/** The top's record of an instance equals that of its cell, and its claims count just those. */
function checkTop(checker: CellsChecker): void {
  const { instances, consumers } = checker.storeOf(TOP);
  const live: string[] = [];
  for (const { uuid, state, host, cell } of instances.values()) {
    if (state === 'active' || state === 'stopped') live.push(uuid);
    if (checker.forgiven.has(uuid)) continue;
    for (const name of CELLS) {
      const there = checker.storeOf(name).instances.get(uuid);
      if (there === undefined || there.state === 'deleted' || there.state === 'error') continue;
      if (name !== cell?.name)
        checker.fail('one cell each', `${uuid} is in ${cell?.name}, and ${there.state} in ${name}`);
      else if (there.state !== state || there.host !== host) {
        checker.fail(
          'states reach the top',
          `${uuid} is ${there.state} on ${there.host} in ${name}, and ${state} at the top`,
        );
      }
    }
    if (state !== 'active' && state !== 'stopped') continue;
    const inCell = checker.storeOf(cell?.name ?? '').instances?.get(uuid);
    if (inCell?.state !== state)
      checker.fail('states reach the top', `${uuid} is ${state}, and in its cell ${inCell?.state}`);
  }
  compareSets([...consumers.keys()], live, {
    onlyFirst: (uuid) => countsWrong(checker, uuid, 'is counted at the top, and is not there'),
    onlySecond: (uuid) => countsWrong(checker, uuid, 'is there, and is not counted at the top'),
  });
}

function countsWrong(checker: CellsChecker, uuid: string, what: string): void {
  if (!checker.forgiven.has(uuid)) checker.fail('quotas are kept', `${uuid} ${what}`);
}

/** Members of an affinity group are on one host of one cell, those of an anti-affinity group on different ones. */
function checkGroups(checker: CellsChecker): void {
  const members = new Map<string, Instance[]>();
  for (const instance of checker.storeOf(TOP).instances.values()) {
    const { group, projectId } = requestSpecCodec.decode(instance.requestSpec);
    if (group === undefined || group.spread || instance.state !== 'active' || checker.forgiven.has(instance.uuid))
      continue;
    const key = `${group.policy} ${projectId} ${group.id}`;
    members.set(key, [...(members.get(key) ?? []), instance]);
  }
  for (const [key, all] of members) {
    const places = all.map(({ cell, host }) => `${cell?.name} ${host}`);
    const isTogether = key.startsWith('affinity');
    const isWrong = isTogether ? new Set(places).size > 1 : new Set(places).size < places.length;
    if (isWrong) checker.fail('groups are kept', `members of ${key} are on ${places.join(', ')}`);
  }
}

/** Each member of a group that spreads over zones is in the zone on record, and is counted there. */
function checkZones(checker: CellsChecker): void {
  const { instances, consumers } = checker.storeOf(TOP);
  for (const { uuid, state, host = '', cell, requestSpec } of instances.values()) {
    const { group } = requestSpecCodec.decode(requestSpec);
    if (group?.spread === undefined || !RESTS_ON_HOST.includes(state) || checker.forgiven.has(uuid)) continue;
    const held = consumers.get(uuid);
    const isIn = ZONE_OF[`${cell?.name}-${host}`];
    const isCountedIn = `${held?.groupHost} ${held?.groupDomain?.domain}`;
    if (isIn !== cell?.zone || isCountedIn !== `${cell?.name} ${cell?.zone}`) {
      checker.fail(
        'groups are kept',
        `${uuid} is in ${isIn}, on record in ${cell?.name} ${cell?.zone}, counted in ${isCountedIn}`,
      );
    }
  }
}

const RESTS_ON_HOST: readonly string[] = ['active', 'stopped'];
