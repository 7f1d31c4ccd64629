import { array, assert, integer, property, tuple } from 'fast-check';
import type { TraceVm } from './read-trace';
import { peakDemand, timelineOf, utilisationOf } from './timeline';

function vm(vmId: string, startDays: number, endDays: number, cores = 1, ram = 2): TraceVm {
  return { vmId, tenantId: 't', cores, ram, startDays, endDays };
}

function order(vms: readonly TraceVm[]): string[] {
  return timelineOf(vms).map((event) => `${event.kind} ${event.vm.vmId}`);
}

it('lets VMs go before others come at the same time, and leaves out ends that never are', () => {
  const vms = [vm('b', 1, Number.POSITIVE_INFINITY), vm('a', 0, 1), vm('c', 1, 1)];
  expect(order(vms)).toEqual(['arrival a', 'departure a', 'arrival b', 'arrival c', 'departure c']);
});

it('has every VM arrive before it departs', () => {
  const days = integer({ min: 0, max: 5 });
  assert(
    property(array(tuple(days, days)), (pairs) => {
      const lines = order(pairs.map(([start, length], i) => vm(String(i), start, start + length)));
      for (const i of pairs.keys()) {
        expect(lines.indexOf(`arrival ${i}`)).toBeLessThan(lines.indexOf(`departure ${i}`));
      }
    }),
  );
});

it('finds the peak that a fleet must have', () => {
  const vms = [vm('a', 0, 2, 4, 1), vm('b', 1, 3, 5, 1), vm('c', 2, 3, 1, 9)];
  expect(peakDemand(timelineOf(vms))).toEqual({ cores: 9, ram: 10 });
});

it('measures peak and mean in the time of the trace, from day 0 to the last arrival', () => {
  const events = timelineOf([vm('before', -100, 1, 50, 50), vm('a', 1, 9, 100, 25), vm('b', 2, 3, 1, 1)]);
  const all = utilisationOf(events, () => true, { cores: 100, ram: 100 });
  expect(all).toEqual({ peak: { cores: 1.01, ram: 0.5 }, mean: { cores: 0.75, ram: 0.375 } });
  const some = utilisationOf(events, (vmId) => vmId === 'a', { cores: 100, ram: 100 });
  expect(some.peak).toEqual({ cores: 1, ram: 0.25 });
});

it('takes as the mean what is in use on day 0 when the whole trace arrives before', () => {
  const events = timelineOf([vm('a', -1_497, 9, 50, 25), vm('b', -1_497, 33, 25, 50), vm('c', -3, -2, 9, 9)]);
  const { mean } = utilisationOf(events, () => true, { cores: 100, ram: 100 });
  expect(mean).toEqual({ cores: 0.75, ram: 0.75 });
});
