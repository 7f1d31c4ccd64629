import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { systemClock } from '#libs/runtime/system';
import { RedfishSimulator } from '../../../testing/redfish-simulator';
import { baremetalOptions } from '../baremetal-options';
import { nodeSource } from '../open-nodes';

const folder = mkdtempSync(join(tmpdir(), 'berth-nodes-'));
afterAll(() => rmSync(folder, { recursive: true }));

const sourceOf = (settings: Readonly<Record<string, string>>) => {
  const env = Object.fromEntries(Object.entries(settings).map(([name, value]) => [`BERTH_AGENT_${name}`, value]));
  return nodeSource(readConfig(baremetalOptions, { BERTH_AGENT_REDFISH_PASSWORD: 'secret', ...env }), {
    clock: systemClock(),
    log: silentLog,
  });
};

function fileOf(content: unknown): string {
  const path = join(folder, 'nodes.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const nothingKnown = async () => [];
const redfish = 'https://bmc-1/redfish/v1/Systems/1';

it('reads nodes from a file, with their classes and traits', async () => {
  const nodes = [
    { name: 'n1', class: 'GOLD', traits: ['CUSTOM_SSD'], redfish, resources: { VCPU: 64 } },
    { name: 'n2', redfish },
  ];
  expect(await sourceOf({ NODES: fileOf(nodes), NODE_CLASS: 'IRON' }).list(nothingKnown)).toEqual([
    { name: 'n1', resourceClass: 'CUSTOM_BAREMETAL_GOLD', traits: ['CUSTOM_SSD'], resources: { VCPU: 64 } },
    { name: 'n2', resourceClass: 'CUSTOM_BAREMETAL_IRON', traits: [], resources: {} },
  ]);
  expect(
    (await sourceOf({ NODES: fileOf(nodes) }).list(nothingKnown)).map(({ resourceClass }) => resourceClass),
  ).toEqual(['CUSTOM_BAREMETAL_GOLD', '']);
});

it.each<[unknown, string]>([
  ['{', "can't be read as JSON"],
  [{}, 'must be a JSON array'],
  [[null], 'node 0 must have a name'],
  [[{ name: 'a b', redfish }], 'node 0 must have a name'],
  [
    [
      { name: 'n1', redfish },
      { name: 'n1', redfish },
    ],
    'node 1 is n1 a second time',
  ],
  [[{ name: 'n1', class: 'gold', redfish }], '(n1): class must be'],
  [[{ name: 'n1', traits: ['ssd'], redfish }], '(n1): traits must be'],
  [[{ name: 'n1', redfish: 'https://bmc-1/' }], '(n1): redfish must be'],
  [[{ name: 'n1' }], '(n1): redfish must be'],
])('refuses a file of %j, and says what is wrong', async (content, message) => {
  await expect(sourceOf({ NODES: fileOf(content) }).list(nothingKnown)).rejects.toMatchObject({
    reason: 'bad_nodes',
    message: expect.stringContaining(message),
  });
});

it('refuses to start without nodes, or with a file that is not there', async () => {
  expect(() => sourceOf({})).toThrow('BERTH_AGENT_NODES must name the nodes');
  await expect(sourceOf({ NODES: join(folder, 'none.json') }).list(nothingKnown)).rejects.toMatchObject({
    reason: 'bad_nodes',
  });
});

it('finds the systems of a Redfish service, and reaches each', async () => {
  const simulator = await RedfishSimulator.start({ nodes: ['n1', 'n2'], isShared: true });
  const source = sourceOf({ NODES: `redfish+${simulator.url}/`, NODE_CLASS: 'GOLD' });
  expect(await source.list(nothingKnown)).toMatchObject([
    { name: 'n1', resourceClass: 'CUSTOM_BAREMETAL_GOLD', traits: ['CUSTOM_MODEL_3500RX'], resources: {} },
    { name: 'n2', resourceClass: 'CUSTOM_BAREMETAL_GOLD', traits: ['CUSTOM_MODEL_3500RX'], resources: {} },
  ]);
  expect(simulator.sessions('n1')).toEqual([]);
  const controller = source.controller('n2');
  await controller.claim(1);
  await controller.setPower('on');
  expect([simulator.system('n1').isOn, simulator.system('n2').isOn]).toEqual([false, true]);
  await simulator.stop();
});

it('serves the others of a service of which one system is broken and two can not be told apart, and says so', async () => {
  const nodes = ['n1', 'n2', 'n3', 'n4'];
  const simulator = await RedfishSimulator.start({ nodes, isShared: true, quirks: { broken: ['n2'] } });
  Object.assign(simulator.system('n4'), { uuid: simulator.system('n3').uuid, serial: 'Default string' });
  Object.assign(simulator.system('n3'), { serial: '' });
  const source = sourceOf({ NODES: `redfish+${simulator.url}` });
  const problems = (await source.list(nothingKnown)).map(({ problem = '' }) => problem);
  expect(problems).toEqual(['', expect.stringContaining('500'), ...Array(2).fill(expect.stringContaining('apart'))]);
  await expect(source.controller('n3').claim(1)).rejects.toMatchObject({ reason: 'ambiguous_system' });
  await source.controller('n1').claim(1);
  await simulator.stop();
});

it.each(['{', '[]', 'null', '"image"', '{"image/source": "x"}'])('refuses %s as instance_info of an Ironic', (text) => {
  expect(() => sourceOf({ NODES: 'ironic+http://ironic:6385', IRONIC_INSTANCE_INFO: text })).toThrow(
    expect.objectContaining({ reason: 'bad_config', message: expect.stringContaining('IRONIC_INSTANCE_INFO') }),
  );
});
