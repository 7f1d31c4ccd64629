import type { ImageProperties } from '../facts/instance-images';
import type { HostHardware } from '../hardware/host-hardware';
import { aWorld, instance, uuidOf } from '../testing/world';

/* Weighers and a filter by what only Nova's database tells: metrics, and the images of instances. */

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.close());

const READ = { BERTH_NOVA_DATABASE_URL: 'mysql://reader@nova.example/nova_api' };
const MADE_BY_METRICS = { ...READ, BERTH_NOVA_METRICS_WEIGHT_SETTING: 'cpu.percent=-1, cpu.frequency=0.5' };
const BARE = { cells: [], pools: [], cpuAllocationRatio: 16, ramAllocationRatio: 1, failedBuilds: 0 };

function tellMetrics(...hosts: readonly Readonly<Record<string, number>>[]): void {
  const byNode = hosts.map((metrics, i): [string, HostHardware] => {
    return [uuidOf(i + 1), { ...BARE, metrics: new Map(Object.entries(metrics)) }];
  });
  world.facts.setHardware(new Map(byNode), world.clock.elapsed());
}

const asked = (n: number) => ({ instance_uuids: [instance(n)] });

describe('metrics', () => {
  it('weigh by the sum of each times its factor', async () => {
    world = await aWorld([{}, {}, {}], MADE_BY_METRICS);
    tellMetrics(
      { 'cpu.percent': 50, 'cpu.frequency': 100 },
      { 'cpu.percent': 10, 'cpu.frequency': 0 },
      { 'cpu.percent': 10, 'cpu.frequency': 40 },
    );
    expect(await world.hosts({}, asked(1))).toEqual([['h3', 'h1', 'h2']]);
  });

  it('fail a request where a host lacks one, unless MetricsFilter keeps it from the host', async () => {
    world = await aWorld([{}, {}], MADE_BY_METRICS);
    tellMetrics({ 'cpu.percent': 1 }, { 'cpu.percent': 1, 'cpu.frequency': 1 });
    const failure = 'Metric cpu.frequency could not be found on the compute host node h1.h1.';
    await expect(world.hosts({}, asked(1))).rejects.toMatchObject({
      className: 'ComputeHostMetricNotFound',
      message: failure,
    });
    await world.close();
    world = await aWorld([{}, {}], { ...MADE_BY_METRICS, BERTH_NOVA_FILTERS: 'MetricsFilter' });
    tellMetrics({ 'cpu.percent': 1 }, { 'cpu.percent': 1, 'cpu.frequency': 1 });
    expect(await world.hosts({}, asked(1))).toEqual([['h2']]);
    tellMetrics({ 'cpu.percent': 1 });
    const reason = await world.refusal({}, asked(2));
    expect(reason).toContain('it does not tell the metric cpu.frequency: 1');
    expect(reason).toContain("its metrics are not known from Nova's database: 1");
  });

  it('put a host that lacks one last where none is required', async () => {
    world = await aWorld([{}, {}], { ...MADE_BY_METRICS, BERTH_NOVA_METRICS_REQUIRED: 'false' });
    tellMetrics({ 'cpu.frequency': 10_000 }, { 'cpu.percent': 100, 'cpu.frequency': 0 });
    expect(await world.hosts({}, asked(1))).toEqual([['h2', 'h1']]);
  });

  it('take the multiplier of an aggregate', async () => {
    world = await aWorld([{}, {}], { ...READ, BERTH_NOVA_METRICS_WEIGHT_SETTING: 'cpu.percent=1' });
    const metadata = new Map([['metrics_weight_multiplier', '-1']]);
    world.facts.putAggregates([{ id: 1, uuid: 'a', hosts: new Set(['h1', 'h2']), metadata }]);
    tellMetrics({ 'cpu.percent': 5 }, { 'cpu.percent': 4 });
    expect(await world.hosts({}, asked(1))).toEqual([['h2', 'h1']]);
  });

  it('hand requests over, or refuse them, while the database is not read', async () => {
    const withoutDatabase = { BERTH_NOVA_FILTERS: 'MetricsFilter', BERTH_NOVA_METRICS_WEIGHT_SETTING: 'cpu.percent=1' };
    world = await aWorld([{}], withoutDatabase);
    expect(await world.refusal()).toContain("The request needs MetricsFilter, for which Nova's database is not read");
    await world.close();
    world = await aWorld([{}], { ...withoutDatabase, BERTH_NOVA_FALLBACK_TOPIC: 'stock' });
    expect(await world.select()).toBe('stock');
  });
});

it('weighs by what only an aggregate gives a multiplier', async () => {
  world = await aWorld([{ hypervisorVersion: 1 }, { hypervisorVersion: 2 }]);
  const metadata = new Map([['hypervisor_version_weight_multiplier', '100']]);
  world.facts.putAggregates([{ id: 1, uuid: 'a', hosts: new Set(['h1', 'h2']), metadata }]);
  expect(await world.hosts({}, asked(1))).toEqual([['h2', 'h1']]);
});

describe('images', () => {
  const LINUX = { os_distro: 'linux', hw_boot_menu: 'yes', hw_cpu_cores: '2' };
  const tell = (...images: readonly ImageProperties[]) =>
    world.facts.setImages(new Map(images.map((one, i) => [instance(i + 50), one])), world.clock.elapsed());

  /** Instances of h2 and h3, with images. */
  async function aWorldOfImages(settings: Readonly<Record<string, string>>): Promise<void> {
    world = await aWorld([{}, {}, {}], { ...READ, ...settings });
    world.facts.putInstances('h2', [instance(50)], true);
    world.facts.putInstances('h3', [instance(51), instance(52)], true);
    tell(
      new Map(Object.entries(LINUX)),
      new Map(Object.entries({ ...LINUX, hw_boot_menu: 'no' })),
      new Map([['os_distro', 'linux']]),
    );
  }
  const image = { os_distro: 'linux', hw_boot_menu: true, hw_cpu_cores: 2 };

  it('bring instances together whose properties are alike, or spread them', async () => {
    await aWorldOfImages({ BERTH_NOVA_WEIGHT_IMAGE_PROPERTIES: '9' });
    expect(await world.hosts({ image }, asked(1))).toEqual([['h2', 'h3', 'h1']]);
    expect(await world.hosts({ image: { os_distro: 'linux' } }, asked(2))).toEqual([['h3', 'h2', 'h1']]);
    expect(await world.hosts({ image: { hw_boot_menu: false } }, asked(3))).toEqual([
      ['h3', expect.anything(), expect.anything()],
    ]);
    await world.close();
    await aWorldOfImages({ BERTH_NOVA_WEIGHT_IMAGE_PROPERTIES: '-9' });
    expect(await world.hosts({ image: { os_distro: 'linux' } }, asked(1))).toEqual([['h1', 'h2', 'h3']]);
  });

  it('count by the factors of a setting, and not at all by default', async () => {
    await aWorldOfImages({
      BERTH_NOVA_WEIGHT_IMAGE_PROPERTIES: '9',
      BERTH_NOVA_IMAGE_PROPS_WEIGHT_SETTING: 'os_distro=-1,hw_boot_menu=0',
    });
    expect(await world.hosts({ image }, asked(1))).toEqual([['h1', 'h2', 'h3']]);
    await world.close();
    await aWorldOfImages({});
    expect(world.deps.settings.weighings.map(({ weigher }) => weigher.name)).not.toContain('ImagePropertiesWeigher');
  });
});
