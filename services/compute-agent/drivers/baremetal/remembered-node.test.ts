import type { NodeRecord } from '#libs/domain/nodes/node';
import { RememberedNode } from './remembered-node';

const FIRST = { host: 'n1', state: 'available', updatedAtMs: 1_000 } as NodeRecord;

it('is changed at a later time with each change, whatever clocks say', async () => {
  const times: number[] = [];
  const write = async ({ updatedAtMs }: NodeRecord) => void times.push(updatedAtMs);
  const clock = [2_000, 2_000, 10];
  const node = new RememberedNode(FIRST, write, () => clock.shift() ?? 0);
  for (let n = 0; n < 3; n++) await node.change({ step: String(n) });
  expect(times).toEqual([2_000, 2_001, 2_002]);
});

it('writes again what could not be written, and nothing that was', async () => {
  const steps: string[] = [];
  let isAway = true;
  const write = async ({ step }: NodeRecord) => {
    if (isAway) throw new Error('the store is away');
    steps.push(step);
  };
  const node = new RememberedNode(FIRST, write, () => 0);
  await expect(node.change({ step: 'boot' })).rejects.toThrow('away');
  await expect(node.written()).rejects.toThrow('away');
  isAway = false;
  await node.written();
  await node.written();
  expect(steps).toEqual(['boot']);
});

it('has written all when a change waits for a write before it', async () => {
  const ends: (() => void)[] = [];
  const write = jest.fn(() => new Promise<void>((resolve) => ends.push(resolve)));
  const node = new RememberedNode(FIRST, write, () => 0);
  const changes = [node.writeAgain(), node.change({ step: 'boot' })];
  let isWritten = false;
  const written = node.written().then(() => {
    isWritten = true;
  });
  ends[0]?.();
  await changes[0];
  await new Promise(setImmediate);
  expect([write.mock.calls.length, isWritten]).toEqual([2, false]);
  ends[1]?.();
  await written;
  await changes[1];
});
