import { BerthError } from '#libs/domain/errors';
import { systemClock } from '#libs/runtime/system';
import { aMetalInstance } from '../../../testing/metal-instance';
import { readNode } from './ironic-node';
import { ironicProvisioning } from './ironic-provisioning';

const NODE = '33333333-3333-4333-8333-333333333333';
const OWN = '11111111-1111-4111-8111-111111111111';
const never = new AbortController().signal;
const instance = aMetalInstance(OWN);

type Shown = Readonly<Record<string, unknown>>;

/** An Ironic that shows one state after the other, the last one from then on, and keeps what it is ordered. */
function aNode(looks: readonly Shown[], answer: (target: string) => void = () => {}) {
  const orders: string[] = [];
  let look = 0;
  const shown = () => ({ uuid: NODE, provision_state: 'available', power_state: 'power off', ...looks[look] });
  const node = {
    uuid: NODE,
    async read() {
      const read = readNode(shown());
      look = Math.min(look + 1, looks.length - 1);
      return read;
    },
    async order(method: string, _path: string, body?: unknown) {
      const { target = method } = body as { target?: string };
      orders.push(target);
      answer(target);
      return { ...shown(), instance_uuid: OWN };
    },
  };
  const terms = { clock: systemClock(), pollMs: 1, bootTimeoutMs: 200, awayMs: 200, note() {} };
  return { orders, provisioning: ironicProvisioning({ node, terms, instanceInfo: {} }) };
}

const own = (provision_state: string, more: Shown = {}) => ({ instance_uuid: OWN, provision_state, ...more });

it('claims, deploys once and protects, whatever it sees on the way', async () => {
  const states = ['deploying', 'wait call-back', 'deploying', 'active'].map((state) => own(state));
  const { orders, provisioning } = aNode([{}, ...states]);
  await provisioning.deploy(instance, never);
  expect(orders).toEqual(['PATCH', 'active', 'PATCH']);
});

it('does not deploy again when its instance is gone meanwhile', async () => {
  const { orders, provisioning } = aNode([{}, own('deploying'), {}]);
  await expect(provisioning.deploy(instance, never)).rejects.toMatchObject({ reason: 'node_taken' });
  expect(orders).toEqual(['PATCH', 'active']);
});

it.each<[string, Shown, string]>([
  ['deploy failed', own('deploy failed', { last_error: 'no disk' }), 'no disk'],
  ['maintenance', { maintenance: true, maintenance_reason: 'a fan' }, 'a fan'],
  ['cleaning', { provision_state: 'cleaning' }, "'cleaning'"],
])('fails a deployment on a node in %s, with the reason', async (_, shown, message) => {
  const { orders, provisioning } = aNode([shown]);
  await expect(provisioning.deploy(instance, never)).rejects.toMatchObject({
    reason: 'deploy_failed',
    message: expect.stringContaining(message),
  });
  expect(orders).toEqual([]);
});

it('orders again what a lock has kept out', async () => {
  let locks = 2;
  const { orders, provisioning } = aNode([{}, own('available'), own('available'), own('active')], (target) => {
    if (target === 'active' && locks-- > 0)
      throw new BerthError('unavailable', 'controller_busy', 'is locked by host h');
  });
  await provisioning.deploy(instance, never);
  expect(orders).toEqual(['PATCH', 'active', 'active', 'active', 'PATCH']);
});

it('waits for the end of a deployment before it undeploys', async () => {
  const { orders, provisioning } = aNode([own('deploying'), own('active', { protected: true }), own('deleting'), {}]);
  await provisioning.undeploy(OWN, never);
  expect(orders).toEqual(['PATCH', 'deleted']);
});

it('has nothing to undeploy on a node with the instance of others', async () => {
  const { orders, provisioning } = aNode([{ provision_state: 'active', instance_uuid: NODE }]);
  await provisioning.undeploy(OWN, never);
  expect(orders).toEqual([]);
});

it('gives up after the time limit, and names the state', async () => {
  const { provisioning } = aNode([own('deploying')]);
  await expect(provisioning.undeploy(OWN, never)).rejects.toMatchObject({
    reason: 'provisioning_stuck',
    message: expect.stringContaining("'deploying'"),
  });
});

it.each<[string, Shown, string]>([
  ['clean failed', { provision_state: 'clean failed', last_error: 'no disk' }, 'cleaning_failed'],
  ['has an instance of others', { instance_uuid: NODE }, 'node_taken'],
])('takes no node for clean that %s', async (_, shown, reason) => {
  const { provisioning } = aNode([{ provision_state: 'cleaning' }, shown]);
  await expect(provisioning.clean(never)).rejects.toMatchObject({ reason });
});
