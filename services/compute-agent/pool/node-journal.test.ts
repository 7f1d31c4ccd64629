import type { NodeRecord } from '#libs/domain/nodes/node';
import { RememberedNode } from '../drivers/baremetal/remembered-node';
import { holdByClass, nodeJournal } from './node-journal';

const GOLD = 'CUSTOM_BAREMETAL_GOLD';

/** A node whose journal has an instance with these resources; and its later writes. */
function aNodeWith(resources: Readonly<Record<string, number>>) {
  const written: NodeRecord[] = [];
  const instances = [{ uuid: 'i-1', resources, allocations: { root: resources }, allocationRequest: 'c2VhbGVk' }];
  const journal = JSON.stringify({ instances, disabled: { reason: 'disk' } });
  const record = { host: 'n1', resourceClass: GOLD, journal } as NodeRecord;
  const node = new RememberedNode(
    record,
    async (next) => void written.push(next),
    () => 1,
  );
  return { node, written };
}

it('has an instance hold the class of its node, and keeps all else that is remembered', async () => {
  const { node, written } = aNodeWith({ VCPU: 64, MEMORY_MB: 1_024 });
  await holdByClass(node);
  expect(await nodeJournal(node).load()).toEqual([
    { uuid: 'i-1', resources: { [GOLD]: 1 }, allocations: {}, allocationRequest: '' },
  ]);
  expect(await nodeJournal(node).loadDisabled()).toEqual({ reason: 'disk' });
  expect(written).toHaveLength(1);
});

it('leaves one alone that holds the class already, with what was sealed for it', async () => {
  const { node, written } = aNodeWith({ [GOLD]: 1 });
  await holdByClass(node);
  expect(await nodeJournal(node).load()).toMatchObject([{ allocationRequest: 'c2VhbGVk' }]);
  expect(written).toEqual([]);
});
