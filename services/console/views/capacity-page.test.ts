import { inventory } from '#libs/domain/inventory';
import { seededRandom } from '#libs/domain/random';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { silentLog } from '#libs/runtime/log';
import { fakeClock } from '#libs/testing/fake-clock';
import { aReport, aWrite, claim, mustReport } from '#libs/testing/placement/placement';
import { fitOn, projectsOf } from './capacity-page';

const ROOT = aReport().providerUuid;

async function hostWith(fields: Parameters<typeof aReport>[0], used: Record<string, number> = {}): Promise<Mirror> {
  const store = new MemoryPlacementStore();
  await mustReport(store, aReport(fields));
  if (Object.keys(used).length > 0) await claim(store, aWrite({ [ROOT]: used }));
  const mirror = await Mirror.open(store, { clock: fakeClock(), random: seededRandom(1), log: silentLog });
  await mirror.close();
  return mirror;
}

const size = (resources: Record<string, number>, traits: readonly string[] = []) => ({ name: '', resources, traits });

it.each([
  ['by the class that is used up first', { VCPU: 2, MEMORY_MB: 1_024 }, [], 3],
  ['by memory where that is less', { VCPU: 1, MEMORY_MB: 8_192 }, [], 1],
  ['not at all without a class', { VCPU: 1, VGPU: 1 }, [], 0],
  ['not at all without a trait', { VCPU: 1 }, ['HW_CPU_X86_AVX512F'], 0],
  ['with the trait that it has', { VCPU: 1 }, ['HW_CPU_X86_AVX2'], 6],
  ['nothing for nothing', {}, [], 0],
] as const)('counts how many more fit on a host: %s', async (_what, resources, traits, expected) => {
  const mirror = await hostWith({}, { VCPU: 2, MEMORY_MB: 4_096 });
  expect(fitOn(mirror, 'host-1', size(resources, traits))).toBe(expected);
});

it('counts by ratio, what is reserved, and units', async () => {
  const mirror = await hostWith({
    inventories: {
      VCPU: inventory(8, { allocationRatio: 4 }),
      MEMORY_MB: inventory(8_192, { reserved: 4_096, maxUnit: 1_024 }),
    },
  });
  expect(fitOn(mirror, 'host-1', size({ VCPU: 10 }))).toBe(3);
  expect(fitOn(mirror, 'host-1', size({ MEMORY_MB: 1_024 }))).toBe(4);
  expect(fitOn(mirror, 'host-1', size({ MEMORY_MB: 2_048 }))).toBe(0);
});

it('shows the share of each project by which its waiting requests are ordered, where they are', async () => {
  const mirror = await hostWith({}, { VCPU: 2 });
  const of = { nowClass: 'VCPU', latelyClass: 'VCPU', gainedAtMs: 1 };
  const share = { projectId: 'project-1', now: 0.25, lately: 0.5, weight: 3, rank: 1, ...of };
  expect(projectsOf(mirror, [share])).toMatchObject([{ projectId: 'project-1', used: { VCPU: 2 }, share }]);
  expect(projectsOf(mirror, [])[0]?.share).toBeUndefined();
});
