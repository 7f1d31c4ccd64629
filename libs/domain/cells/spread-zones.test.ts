import * as fc from 'fast-check';
import { isSkewed, settled } from '../server-group';
import type { CellSummary, HostClass } from './cell-summary';
import { spreadEvenly, zonesFor } from './spread-zones';

const ANYTHING = { zone: '', requiredTraits: [], forbiddenTraits: [] };
const hosts = (zone: string, ...traits: string[]): HostClass => ({
  zone,
  hostCount: 1,
  traits: new Set(traits),
  someTraits: new Set(),
  free: {},
});

function aCell(
  zones: readonly string[],
  classes: readonly HostClass[] = [],
  state: 'enabled' | 'draining' = 'enabled',
) {
  const counts = { digest: 1, hostCount: 1, availableCount: 1, instanceCount: 0 };
  const summary: CellSummary = { ...counts, commonTraits: new Set(), classes, refused: [], zones, isAbridged: false };
  return { state, summary };
}

it('the zones of a fleet are those of all enabled cells, each once', () => {
  const cells = [aCell(['z2', 'z1']), aCell(['z2', 'z3']), aCell(['z4'], [], 'draining')];
  expect(zonesFor(ANYTHING, cells)).toEqual(['z1', 'z2', 'z3']);
  expect(zonesFor(ANYTHING, [...cells, { state: 'enabled', summary: undefined }])).toEqual(['z1', 'z2', 'z3']);
  expect(zonesFor({ ...ANYTHING, zone: 'z2' }, cells)).toEqual(['z2']);
});

it('a zone without hosts of the traits that are asked for does not count; one whose hosts are all away does', () => {
  const cells = [aCell(['z1', 'z2', 'z3'], [hosts('z1', 'GPU'), hosts('z2')]), aCell(['z2'], [hosts('nova', 'GPU')])];
  expect(zonesFor({ ...ANYTHING, requiredTraits: ['GPU'] }, cells)).toEqual(['z1', 'z2', 'z3']);
  expect(zonesFor({ ...ANYTHING, requiredTraits: ['GPU'] }, cells.slice(0, 1))).toEqual(['z1', 'z3']);
  expect(zonesFor({ ...ANYTHING, forbiddenTraits: ['GPU'] }, cells.slice(0, 1))).toEqual(['z2', 'z3']);
});

it('members go where there are fewest, as long as there is room and the skew allows', () => {
  const spread = { by: 'availability_zone', maxSkew: 1 };
  const zones = (...rooms: number[]) => rooms.map((room, n) => ({ zone: `z${n}`, members: n === 0 ? 2 : 0, room }));
  expect(spreadEvenly(spread, 5, zones(9, 9, 9))).toEqual(['z1', 'z2', 'z1', 'z2', 'z0']);
  expect(spreadEvenly(spread, 5, zones(9, 9, 0))).toEqual(['z1']);
  expect(spreadEvenly(spread, 1, [])).toEqual([]);
});

it('no member makes the group more uneven than it may be, and the next one would', () => {
  const zone = fc.record({ members: fc.nat(4), room: fc.nat(4) });
  const fleet = fc.array(zone, { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fleet, fc.integer({ min: 1, max: 3 }), fc.nat(12), (rows, maxSkew, count) => {
      const zones = rows.map((row, n) => ({ zone: `z${n}`, ...row }));
      const among = zones.map((one) => one.zone);
      const members = new Map(zones.map((one) => [one.zone, one.members]));
      const room = new Map(zones.map((one) => [one.zone, one.room]));
      const of = (one: string) => members.get(one) ?? 0;
      const isOpen = (domain: string) =>
        room.get(domain) !== 0 && !isSkewed({ by: '', maxSkew }, { domain, among }, (one) => settled(of(one)));
      const places = spreadEvenly({ by: '', maxSkew }, count, zones);
      for (const domain of places) {
        expect(isOpen(domain)).toBe(true);
        members.set(domain, of(domain) + 1);
        room.set(domain, (room.get(domain) ?? 0) - 1);
      }
      expect(places.length < count ? among.filter(isOpen) : []).toEqual([]);
    }),
  );
});
