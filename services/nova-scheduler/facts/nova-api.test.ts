import { type FakeKeystone, PASSWORD, startFakeKeystone } from '#libs/auth/testing/fake-keystone';
import { silentLog } from '#libs/runtime/log';
import { systemClock } from '#libs/runtime/system';
import { aHypervisor, type FakeNovaApi, startFakeNovaApi } from '../testing/fake-nova-api';
import { parseCells } from './cells';
import { openNovaApi } from './nova-api';

const CELL = 'ce110000-0000-4000-8000-000000000001';
const signal = AbortSignal.timeout(30_000);
let keystone: FakeKeystone;
let nova: FakeNovaApi;
let api: ReturnType<typeof openNovaApi>;

beforeEach(async () => {
  const soon = () => new Date(systemClock().now() + 3_600_000).toISOString();
  [keystone, nova] = await Promise.all([startFakeKeystone(soon), startFakeNovaApi()]);
  const config = {
    apiUrl: nova.url,
    keystoneUrl: keystone.url,
    keystoneUsername: 'nova',
    keystonePassword: PASSWORD,
    keystoneProject: 'service',
    keystoneUserDomain: 'Default',
    keystoneProjectDomain: 'Default',
    keystoneTimeoutMs: 5_000,
    keystoneRefusedCacheMs: 1_000,
  };
  api = openNovaApi(config, parseCells([CELL]), { clock: systemClock(), log: silentLog });
});
afterEach(() => Promise.all([api.close(), nova.close(), keystone.close()]));

it('reads services, nodes, aggregates and instances', async () => {
  nova.services = [
    { host: 'h1', state: 'up', status: 'enabled' },
    { host: 'h2', state: 'down', status: 'disabled' },
  ];
  nova.hypervisors = [aHypervisor(1, ['a', 'b'])];
  nova.aggregates = [{ id: 1, uuid: 'agg', hosts: ['h1'], metadata: { availability_zone: 'az' } }];
  expect(await api.services(signal)).toEqual([
    { host: 'h1', isUp: true, isDisabled: false },
    { host: 'h2', isUp: false, isDisabled: true },
  ]);
  expect(await api.nodes(signal)).toEqual([
    {
      uuid: 'node-1',
      nodename: 'h1.example',
      host: 'h1',
      cellUuid: CELL,
      hypervisorType: 'QEMU',
      hypervisorVersion: 6_002_000,
      ioOps: 1,
      capabilities: {
        cpu_info: { arch: 'x86_64' },
        hypervisor_type: 'QEMU',
        hypervisor_version: 6_002_000,
        hypervisor_hostname: 'h1.example',
      },
    },
  ]);
  expect(await api.aggregates(signal)).toEqual([
    { id: 1, uuid: 'agg', hosts: new Set(['h1']), metadata: new Map([['availability_zone', 'az']]) },
  ]);
  expect(await api.instances(signal)).toEqual(new Map([['h1', ['a', 'b']]]));
});

it('reads nodes page by page', async () => {
  nova.hypervisors = Array.from({ length: 1_001 }, (_, i) => aHypervisor(i));
  expect(await api.nodes(signal)).toHaveLength(1_001);
  expect(nova.asked).toEqual([
    '/os-hypervisors/detail?limit=1000',
    '/os-hypervisors/detail?limit=1000&marker=node-999',
  ]);
});

it('takes another token when Nova refuses the one it has, once', async () => {
  await api.services(signal);
  for (const token of keystone.logins) nova.refused.add(token);
  expect(await api.services(signal)).toEqual([]);
  expect(keystone.calls.filter((call) => call === 'login')).toHaveLength(2);
});

it.each([
  ['broken', 'answers 503'],
  ['forbidden', 'needs a role'],
  ['nonsense', 'has no services'],
] as const)('rejects when the API is %s', async (behaviour, message) => {
  nova.behaviour = behaviour;
  await expect(api.services(signal)).rejects.toThrow(message);
});

it('knows cells of hosts by what operators say', () => {
  const other = CELL.replace('1', '2');
  const cellOf = parseCells([`${CELL}=rack1-*`, `${other}=h9`]);
  expect([cellOf('rack1-7'), cellOf('h9'), cellOf('h99')]).toEqual([CELL, other, undefined]);
  expect(() => parseCells(['rack1'])).toThrow('neither UUID nor UUID=HOST');
  expect(() => parseCells([`${CELL}=a*b`])).toThrow("'*' stands at the end");
});
