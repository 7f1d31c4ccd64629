import { hostsInUse } from './hosts-in-use';
import { plotOf } from './plot';
import type { TraceVm } from './read-trace';
import { refusalsBySize } from './refusals-by-size';
import { timelineOf } from './timeline';

function vm(vmId: string, startDays: number, endDays: number, cores: number, ram: number): TraceVm {
  return { vmId, tenantId: 't', cores, ram, startDays, endDays };
}

const HOST = { cores: 10, ram: 10 };
const CAPACITIES = new Map([
  ['h1', HOST],
  ['h2', HOST],
]);

it('counts hosts in use at the time when they are most, and what is free there but out of proportion', () => {
  const events = timelineOf([vm('a', -5, 2, 10, 5), vm('b', 1, 2, 5, 10), vm('end', 2, 2, 1, 1)]);
  const { most, stranded } = hostsInUse(
    events,
    new Map([
      ['a', 'h1'],
      ['b', 'h2'],
    ]),
    CAPACITIES,
  );
  expect(most).toBe(2);
  // Out of 20: 5 of ram on h1 all the time, 5 of cores on h2 half of it.
  expect(stranded.ram).toBeCloseTo(0.25, 5);
  expect(stranded.cores).toBeCloseTo(0.125, 1);
});

it('counts nothing where the whole trace comes before day 0 but what is in use then', () => {
  const { most, stranded } = hostsInUse(timelineOf([vm('a', -5, 9, 5, 5)]), new Map([['a', 'h1']]), CAPACITIES);
  expect({ most, stranded }).toEqual({ most: 1, stranded: { cores: 0, ram: 0 } });
});

it('tells refusals by the share of a host that VMs take, and leaves out sizes that nobody asks for', () => {
  const vms = [vm('small', 0, 1, 1, 0.1), vm('large', 0, 1, 1, 9), vm('larger', 0, 1, 8, 9)];
  expect(refusalsBySize(vms, (vmId) => vmId !== 'larger', HOST)).toEqual([
    { upToShare: 0.25, asked: 1, refused: 0, refusedCores: 0, refusedRam: 0 },
    { upToShare: Number.POSITIVE_INFINITY, asked: 2, refused: 1, refusedCores: 8, refusedRam: 9 },
  ]);
});

it('draws what is in use below what is asked from where a VM is refused', () => {
  const events = timelineOf([vm('a', 0, 9, 5, 5), vm('b', 1, 9, 5, 5), vm('c', 2, 9, 1, 1)]);
  const svg = plotOf(events, (vmId) => vmId !== 'b', HOST);
  const lines = [...svg.matchAll(/polyline[^>]*points="([^"]*)"/g)].map(([, points = '']) => points.split(' '));
  expect(lines).toHaveLength(4);
  const [asked = [], used = []] = lines;
  expect(asked[10]).toBe(used[10]);
  expect(Number(asked.at(-1)?.split(',')[1])).toBeLessThan(Number(used.at(-1)?.split(',')[1]));
  expect(svg).not.toContain('NaN');
});
