import type { CellView } from '#libs/contracts/cell-methods';
import type { InstanceView } from '#libs/contracts/instance';
import { BerthError } from '#libs/domain/errors';
import { type DrainedFromCell, drainCell } from './drain-cell';

const classOf = (vcpu: number) => {
  const free = { VCPU: { most: vcpu, total: vcpu } };
  return { zone: '', hostCount: 1, traits: new Set<string>(), someTraits: new Set<string>(), free };
};
const cellView = (name: string, vcpu: number, fields: Partial<CellView> = {}) =>
  ({ name, state: 'enabled', isReachable: true, summary: { classes: [classOf(vcpu)] }, ...fields }) as CellView;
const instance = (uuid: string, cell: string, state: InstanceView['state'] = 'active') =>
  ({ uuid, name: uuid, cell, state, host: 'h1', fault: undefined }) as InstanceView;

/** A fleet whose cells refuse some instances with a reason. */
function fleet(cells: CellView[], instances: InstanceView[], refusals: Readonly<Record<string, string>> = {}) {
  const all = new Map(instances.map((one) => [one.uuid, one]));
  const asked: string[] = [];
  const states = new Map<string, string>();
  const client = {
    setCellState: async (cell: string, state: string) => {
      states.set(cell, state);
      return undefined as never;
    },
    cells: async () => cells,
    instances: async () => [...all.values()],
    instance: async (uuid: string) => all.get(uuid) as InstanceView,
    operateAndWait: async (uuid: string, _operation: string, { targetCell = '' } = {}) => {
      asked.push(`${uuid} ${targetCell}`);
      const reason = refusals[targetCell] ?? refusals[uuid];
      if (reason === 'instance_state') throw new BerthError('failed_precondition', reason, 'it is building');
      const fault = reason === undefined ? undefined : new BerthError('failed_precondition', reason, 'why');
      all.set(uuid, { ...(all.get(uuid) as InstanceView), fault, ...(fault ? {} : { cell: targetCell }) });
      return undefined as never;
    },
  };
  const progress: string[] = [];
  const onProgress = (done: number, count: number, { uuid }: DrainedFromCell) =>
    progress.push(`${done}/${count} ${uuid}`);
  const drain = (signal = new AbortController().signal) =>
    drainCell({ client, signal, onProgress }, { cell: 'b', reason: 'a test', parallel: 1, timeoutMs: 1_000 });
  const add = (one: InstanceView) => all.set(one.uuid, one);
  return { drain, asked, states, progress, add };
}

it('moves what is in the cell to the cell with the most room, and nothing of other cells, or that has ended', async () => {
  const instances = [instance('i1', 'b'), instance('i2', 'a'), instance('i3', 'b', 'error'), instance('i4', 'b')];
  const { drain, asked, states, progress } = fleet([cellView('a', 1), cellView('b', 9), cellView('c', 5)], instances);
  const drained = await drain();
  expect(drained.map(({ uuid, cell, stays }) => [uuid, cell, stays])).toEqual([
    ['i1', 'c', undefined],
    ['i4', 'c', undefined],
  ]);
  expect(asked).toEqual(['i1 c', 'i4 c']);
  expect(progress).toEqual(['1/2 i1', '2/2 i4']);
  expect(states.get('b')).toBe('draining');
});

it('tries the next cell when one has no room, and says why an instance stays', async () => {
  const cells = [cellView('a', 1), cellView('b', 9), cellView('c', 5)];
  const { drain, asked } = fleet(cells, [instance('i1', 'b')], { c: 'no_valid_host' });
  expect(await drain()).toMatchObject([{ uuid: 'i1', cell: 'a', stays: undefined }]);
  expect(asked).toEqual(['i1 c', 'i1 a']);
  const full = fleet(cells, [instance('i1', 'b')], { a: 'no_valid_host', c: 'no_valid_host' });
  expect(await full.drain()).toMatchObject([{ uuid: 'i1', cell: 'b', stays: 'no_valid_host: why' }]);
});

it('tries the next cell when the zones of one would leave the group of a member uneven', async () => {
  const cells = [cellView('a', 1), cellView('b', 9), cellView('c', 5)];
  const { drain } = fleet(cells, [instance('i1', 'b', 'stopped')], { c: 'group_is_uneven' });
  expect(await drain()).toMatchObject([{ uuid: 'i1', cell: 'a', stays: undefined }]);
});

it('moves what came to the cell while it began to drain', async () => {
  const { drain, asked, add } = fleet([cellView('a', 1)], [instance('i1', 'b')]);
  const drained = drain();
  add(instance('i2', 'b'));
  expect(await drained).toMatchObject([{ uuid: 'i1' }, { uuid: 'i2', cell: 'a' }]);
  expect(asked).toEqual(['i1 a', 'i2 a']);
});

it('does not ask other cells for what can not be moved now', async () => {
  const { drain, asked } = fleet([cellView('a', 1), cellView('c', 5)], [instance('i1', 'b')], { i1: 'instance_state' });
  expect(await drain()).toMatchObject([{ uuid: 'i1', stays: 'instance_state: it is building' }]);
  expect(asked).toHaveLength(1);
});

it('asks no cell that takes nothing', async () => {
  const cells = [cellView('a', 1, { state: 'disabled' }), cellView('c', 5, { isReachable: false })];
  const { drain, asked } = fleet(cells, [instance('i1', 'b')]);
  expect(await drain()).toMatchObject([{ uuid: 'i1', stays: 'no other cell takes instances' }]);
  expect(asked).toEqual([]);
});

it('begins no other instance when it is interrupted', async () => {
  const { drain } = fleet([cellView('a', 1)], [instance('i1', 'b')]);
  expect(await drain(AbortSignal.abort())).toEqual([]);
});
