import { peakDemand, timelineOf } from '../../../services/cli/trace/timeline';
import { boundOf, FLEETS, USUAL } from './fleet-kinds';
import { generatedTrace } from './generated-traces';

it.each(['growth', 'bursts', 'late_large', 'two_ratios'])(
  '%s: the same VMs for a seed, others for another, each of which fits on an empty host',
  (course) => {
    const vms = generatedTrace(course, 1);
    const all = JSON.stringify(vms);
    expect(JSON.stringify(generatedTrace(course, 1))).toBe(all);
    expect(JSON.stringify(generatedTrace(course, 2))).not.toBe(all);
    expect(vms.every(({ cores, ram }) => cores <= USUAL.cores && ram <= USUAL.ram)).toBe(true);
    expect(vms.every(({ startDays, endDays }) => endDays >= startDays)).toBe(true);
    const bound = boundOf(peakDemand(timelineOf(vms)), FLEETS['one_kind'] ?? []);
    expect(bound).toBeGreaterThanOrEqual(149);
    expect(bound).toBeLessThanOrEqual(200);
  },
);

it('refuses a course that there is not', () => {
  expect(() => generatedTrace('sideways', 1)).toThrow(/no course sideways; there are steady, growth/);
});
