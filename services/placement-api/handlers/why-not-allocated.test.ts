import type { ConsumerWrite } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { type Asked, requireAmounts, whyNotAllocated } from './why-not-allocated';

const view = {
  provider: (uuid: string) =>
    uuid === 'host' ? { inventories: { VCPU: {} } } : uuid === 'bare' ? { inventories: {} } : undefined,
  consumer: (uuid: string) => (uuid === 'old' ? { generation: 4 } : undefined),
  hasResourceClass: (name: string) => name === 'VCPU' || name === 'DISK_GB',
} as unknown as PlacementView;

function asked(allocations: ConsumerWrite['allocations'], more: Partial<ConsumerWrite> = {}): Asked {
  const consumer = { uuid: 'new', expect: { kind: 'absent' }, allocations, ...more } as ConsumerWrite;
  return { consumers: [consumer], view, noClass: 'Unable: ' };
}

const noInventory = { kind: 'not_found', subject: 'inventory', key: 'host NONE' } as const;

test('a consumer that has changed comes before a provider that does not exist', () => {
  const stale = asked({ gone: { VCPU: 1 } }, { uuid: 'old', expect: { kind: 'generation', generation: 3 } });
  expect(whyNotAllocated(noInventory, stale).message).toBe('consumer generation conflict - expected 4 but got 3');
});

test('a provider that does not exist comes before a class that does not', () => {
  const error = whyNotAllocated(noInventory, asked({ host: { NONE: 1 }, gone: { VCPU: 1 } }));
  expect(error.message).toBe("Allocation for resource provider 'gone' that does not exist.");
});

test('a class that does not exist comes before an inventory that is missing', () => {
  const error = whyNotAllocated(noInventory, asked({ host: { DISK_GB: 1, NONE: 1 } }));
  expect(error.message).toBe('Unable: No such resource class NONE.');
});

test('providers without any inventory that is asked for are told together', () => {
  const error = whyNotAllocated(noInventory, asked({ host: { VCPU: 1 }, bare: { VCPU: 1, DISK_GB: 1 } }));
  expect(error.message).toContain("Inventory for 'VCPU, DISK_GB' on resource provider 'bare' invalid.");
});

test('more than any inventory can have violates its constraints', () => {
  const error = () => requireAmounts(asked({ host: { VCPU: 2 ** 31 } }));
  expect(error).toThrow('The requested amount would violate inventory constraints.');
});
