import { createMetrics } from '#libs/runtime/metrics';
import { capacityMetrics } from './capacity-metrics';
import { aWorld } from './testing/world';

it('shows capacity and use by class and zone, of hosts that builds may go to, in a bounded number of series', async () => {
  const world = aWorld();
  const { mirror } = await world.scheduler();
  const metrics = createMetrics({});
  capacityMetrics(metrics, mirror);
  for (const host of ['a', 'b', 'c', 'down']) await world.report(host);
  await world.aggregate('east', { availability_zone: 'zone east' }, 'b', 'c');
  await world.occupy('b', { VCPU: 3 });
  await world.placement.commit({
    kind: 'set_host_enabled',
    host: 'down',
    enabled: false,
    reason: 'away',
    atMs: 1,
  });
  await mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  const shown = async () => (await metrics.expose()).split('\n').filter((line) => line.includes('class="VCPU"'));
  const [host] = mirror.hosts();
  const total = mirror.provider(host?.providerUuid ?? '')?.inventories['VCPU']?.total ?? 0;
  expect(await shown()).toEqual([
    `berth_scheduler_capacity{resource_class="VCPU",zone="nova"} ${total}`,
    `berth_scheduler_capacity{resource_class="VCPU",zone="zone east"} ${2 * total}`,
    'berth_scheduler_capacity_used{resource_class="VCPU",zone="nova"} 0',
    'berth_scheduler_capacity_used{resource_class="VCPU",zone="zone east"} 3',
  ]);
  for (let n = 0; n < 50; n++) {
    await world.report(`host-${n}`);
    await world.aggregate(`zone-${n}`, { availability_zone: `zone-${n}` }, `host-${n}`);
  }
  await mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  expect(await shown()).toHaveLength(2 * 41);
  expect((await shown()).join('\n')).toContain('zone="other"');
  await world.close();
});
