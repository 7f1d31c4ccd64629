import type { DeviceAlternative, DevicesAsked } from '#libs/domain/devices/device-request';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { Scenario, Stage } from './stage';

const VCPU = { VCPU: 2 };
const CARD_HOST = 'host-3';
const GPUS = [
  'gpu0 model=H100 numa=0 capacity:memory=80Gi',
  'gpu0 model=A100 capacity:memory=40Gi; gpu1 model=A100 capacity:memory=40Gi',
  'card/whole model=H100 capacity:memory=80Gi consumes:CUSTOM_SLICE=2 taint:worn=2; card/half0 model=MIG capacity:memory=40Gi consumes:CUSTOM_SLICE=1; card/half1 model=MIG capacity:memory=40Gi consumes:CUSTOM_SLICE=1',
];

/** Three hosts: an H100; two A100; a card that is whole and worn, or two halves. */
export const devices: Scenario = {
  name: 'devices',
  purpose: 'devices by their attributes: an H100 or else two A100, halves of a card, a worn one for who takes it',
  fleet: {
    hosts: 3,
    shape: { VCPU: 16, MEMORY_MB: 32_768 },
    settings: {
      BERTH_AGENT_PROVIDERS: 'none | none | card CUSTOM_SLICE=2',
      BERTH_AGENT_DEVICES: GPUS.join(' | '),
    },
  },

  async play(stage) {
    const either = asking(
      { name: 'big', selectors: [`${MODEL} == "H100"`] },
      { name: 'pair', selectors: [`${MODEL} == "A100"`], count: 2 },
    );
    stage.tell('two instances want an H100, or else two A100');
    await build(stage, either, ['big', 'pair'], 2);

    stage.tell('a third wants the same, and there is none that is not worn');
    const { relaxations, diagnosis } = await stage.fleet.client.explain(specOf(either));
    for (const { sentence } of relaxations) stage.tell(stage.context.terminal.colours.dim(sentence));
    stage.check('no host fits', diagnosis.hostsPassed === 0);
    stage.check('it says what would help', relaxations.length > 0);

    stage.tell('two want 40 GiB, and get the halves of the card');
    await build(stage, asking({ selectors: ['device.capacity.memory >= quantity("40Gi")'] }), ['half'], 2);

    stage.tell('one tolerates wear: the whole card is worn, and its halves are in use');
    const worn = asking({ selectors: [`${MODEL} == "H100"`], tolerations: { worn: '*' } });
    const refused = await stage.fleet.client.explain(specOf(worn), { host: CARD_HOST });
    stage.tell(stage.context.terminal.colours.dim(refused.hosts[0]?.refusals[0] ?? ''));
    const halves = (await stage.instances()).filter(({ host }) => host === CARD_HOST);
    for (const { uuid } of halves) await stage.fleet.client.terminate(uuid);
    await stage.until('once they have gone, it gets the card', async () => {
      return (await stage.fleet.client.explain(specOf(worn))).diagnosis.hostsPassed === 1;
    });
    await build(stage, worn, ['whole'], 1);
  },
};

const MODEL = 'device.attributes.model';

function asking(...alternatives: readonly Partial<DeviceAlternative>[]): DevicesAsked {
  const plain = { name: '', count: 1, selectors: [], tolerations: {}, capacity: {} };
  const firstAvailable = alternatives.map((one) => ({ ...plain, ...one }));
  return { deviceRequests: [{ name: 'gpu', firstAvailable }], deviceConstraints: [] };
}

function specOf(asked: DevicesAsked): Partial<RequestSpec> & Pick<RequestSpec, 'resources' | 'projectId' | 'userId'> {
  return { resources: VCPU, projectId: 'demo', userId: 'cli', ...asked };
}

/** Builds instances, and tells which devices their drivers got. */
async function build(stage: Stage, asked: DevicesAsked, wanted: readonly string[], count: number): Promise<void> {
  const uuids = await stage.build(count, VCPU, asked);
  const got = uuids.map((uuid) => {
    for (const [host, driver] of stage.fleet.drivers) {
      const entries = Object.entries(driver.built(uuid)?.mappings ?? {}).filter(([suffix]) =>
        suffix.startsWith('device:'),
      );
      for (const [suffix, names] of entries) return `${names.join(' and ')} of ${host} as ${suffix}`;
    }
    return 'no device';
  });
  for (const one of got) stage.tell(stage.context.terminal.colours.green(one));
  stage.check(
    `they get ${wanted.join(' and ')}`,
    wanted.every((word) => got.some((one) => one.includes(word))),
  );
}
