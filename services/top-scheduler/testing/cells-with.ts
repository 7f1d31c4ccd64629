import { randomUUID } from 'node:crypto';
import { MemoryBroker } from '#libs/bus/memory/broker';
import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { busOptions } from '#libs/bus/options';
import { answer } from '#libs/bus/typed-calls';
import { CellLink } from '#libs/cells/cell-link';
import { SERVICE } from '#libs/contracts/identity';
import { RPC_CONDUCTOR, RPC_SCHEDULER } from '#libs/contracts/queues';
import { releaseClaimsMethod } from '#libs/contracts/release-claims';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { type SelectDestinationsRequest, selectDestinationsMethod } from '#libs/contracts/selection';
import type { CellSummary } from '#libs/domain/cells/cell-summary';
import type { Consumer } from '#libs/domain/consumer';
import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { seededRandom } from '#libs/domain/random';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { Revised } from '#libs/placement/port/rows';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { fakeClock } from '#libs/testing/fake-clock';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { explainCells } from '../explain-cells';
import { KnownCell } from '../known-cell';
import { selectCell } from '../select-cell';
import { ZoneMembers } from '../zone-members';

export const uuids = (count: number) => Array.from({ length: count }, () => randomUUID());
const diagnosis = {
  hostsConsidered: 1,
  hostsPassed: 0,
  filters: [],
  claimConflicts: 0,
  summary: 'full',
  quotaExceeded: [],
};

/** Capacity in instances, overall or by zone. */
type Room = number | Readonly<Record<string, number>>;

/** Cells with capacity for this many instances each: they claim, and record requests and releases. */
export async function cellsWith(
  rooms: Readonly<Record<string, Room>>,
  group?: { readonly cell: string },
  refusalMs = 0,
) {
  const clock = fakeClock();
  const random = seededRandom(5);
  const around = () => ({ clock, random, log: silentLog, metrics: createMetrics({}) });
  const broker = new MemoryBroker(clock, silentLog);
  /** By cell, or by cell and zone. */
  const room = new Map(Object.entries(rooms).flatMap(([cell, its]) => roomsOf(cell, its)));
  const placeOf = new Map<string, string>();
  const asked: string[] = [];
  const cells = new Map<string, KnownCell>();
  for (const [name, its] of Object.entries(rooms)) {
    const bus = new MemoryBus(broker, SERVICE, { ...readConfig(busOptions, {}), cell: name }, around());
    await bus.serve(RPC_SCHEDULER, {
      ...answer(selectDestinationsMethod, async ({ instanceUuids, minCount = 0, requestSpec }) => {
        const { availabilityZone: zone } = requestSpecCodec.decode(requestSpec);
        const place = zone === undefined ? name : `${name} ${zone}`;
        asked.push(place);
        const free = room.get(place) ?? 0;
        if (free < (minCount || instanceUuids.length)) return { destinations: [], noValidHost: diagnosis };
        const taken = instanceUuids.slice(0, free);
        room.set(place, free - taken.length);
        for (const uuid of taken) placeOf.set(uuid, place);
        const selected = { host: 'h1', cell: name, allocationRequest: new Uint8Array(), serviceHost: 'h1', epoch: 1 };
        const destinations = taken.map((instanceUuid) => ({ instanceUuid, selected, alternates: [], claimToken: 1 }));
        return { destinations, noValidHost: undefined };
      }),
    });
    await bus.serve(RPC_CONDUCTOR, {
      ...answer(releaseClaimsMethod, async ({ claims }) => {
        for (const { instanceUuid } of claims) {
          const place = placeOf.get(instanceUuid) ?? '';
          room.set(place, (room.get(place) ?? 0) + 1);
        }
        return { released: claims.length };
      }),
    });
    const link = new CellLink(name, async () => bus, around());
    await clock.advance(0);
    const cell = new KnownCell(link, clock);
    if (typeof its !== 'number') cell.heard(summaryOf(its));
    cells.set(name, cell);
  }
  const config = { maxAsked: 5, askTimeoutMs: 1_000, refusalMs };
  /** Consumers at the top, by uuid: the zones of the group's members. */
  const held = new Map<string, string>();
  const mirror = {
    groupMembers: () => new Set(held.keys()),
    consumer: (uuid: string) => ({ groupDomain: { by: ZONE_KEY, domain: held.get(uuid) } }) as Revised<Consumer>,
  };
  const zoneMembers = new ZoneMembers(mirror, clock);
  const deps = { cells, random, config, cellOfGroup: () => group?.cell, zoneMembers };
  const select = async (request: Partial<SelectDestinationsRequest>, fields: Partial<RequestSpec> = {}) => {
    const spec = aRequestSpec(fields);
    const usual = { requestId: random.uuid(), requestSpec: requestSpecCodec.encode(spec), instanceUuids: uuids(1) };
    const selecting = selectCell(resolveSpec(spec, 'spec'), { ...usual, numAlternates: 0, ...request }, deps);
    await clock.advance(0);
    return selecting;
  };
  const explain = (fields: Partial<RequestSpec> = {}) => explainCells(resolveSpec(aRequestSpec(fields), 'spec'), deps);
  const countsOf = ({ destinations }: Awaited<ReturnType<typeof select>>) => {
    const counts: Record<string, number> = {};
    for (const { selected } of destinations) counts[selected.cell] = (counts[selected.cell] ?? 0) + 1;
    return counts;
  };
  /** / Like the top's conductors, records the members' places. */
  const write = ({ destinations }: Awaited<ReturnType<typeof select>>) => {
    for (const { instanceUuid, zone = '' } of destinations) held.set(instanceUuid, zone);
  };
  const zonesOf = ({ destinations }: Awaited<ReturnType<typeof select>>) =>
    destinations.map(({ selected, zone }) => `${selected.cell} ${zone}`).sort();
  return { select, explain, countsOf, zonesOf, asked, room, cells, held, write, clock };
}

function roomsOf(cell: string, room: Room): [place: string, free: number][] {
  if (typeof room === 'number') return [[cell, room]];
  return Object.entries(room).map(([zone, free]) => [`${cell} ${zone}`, free]);
}

/** A summary with an ample host in each zone: the cell's answer is the accurate one. */
function summaryOf(room: Readonly<Record<string, number>>): CellSummary {
  const zones = Object.keys(room);
  const free = { VCPU: { most: 99, total: 99 }, MEMORY_MB: { most: 99_999, total: 99_999 } };
  const classes = zones.map((zone) => ({ zone, hostCount: 1, traits: NO_TRAITS, someTraits: NO_TRAITS, free }));
  const counts = { hostCount: zones.length, availableCount: zones.length, instanceCount: 0 };
  return { digest: 1, ...counts, commonTraits: NO_TRAITS, classes, refused: [], zones, isAbridged: false };
}

const NO_TRAITS: ReadonlySet<string> = new Set();
