import type { Host } from '#libs/domain/host';
import type { ReleaseHosts } from '#libs/placement/port/placement-store';
import { anInstance } from '#libs/testing/instances/instance';
import type { Conductor } from '../conductor';
import { endForgottenEpochs } from './forgotten-epochs';

const NOW_MS = 1_000;
const HOST = { name: 'h1', up: true, epoch: 4, agentRun: 'run-1', serviceHost: 'h1' } as Host;

async function released(epoch: number, fields: Partial<Host> = {}): Promise<readonly ReleaseHosts[]> {
  const calls: ReleaseHosts[] = [];
  const placement = { releaseHosts: async (held: ReleaseHosts) => void calls.push(held) };
  const c = { placement, clock: { now: () => NOW_MS }, log: { warn: () => {} } } as unknown as Conductor;
  const record = anInstance({ state: 'active', host: 'h1', activeAt: { epoch, position: 1 } });
  await endForgottenEpochs(c, [record, record], new Map([['h1', { ...HOST, ...fields }]]));
  return calls;
}

it('takes a host from its holder, once, when a record rests on a later epoch: the holder gets one by the clock', async () => {
  expect(await released(NOW_MS)).toEqual([{ hosts: ['h1'], agentRun: 'run-1', serviceHost: 'h1' }]);
});

it.each<[string, number, Partial<Host>]>([
  ['a record rests on its holder', 4, {}],
  ['a record rests on an earlier holder', 3, {}],
  ['a record rests on an epoch from the future, which no lease outdoes', NOW_MS + 1, {}],
  ['the host is silent, and is fenced where need be', NOW_MS, { up: false }],
  ['its agent is of an older version, without epochs', NOW_MS, { epoch: 0 }],
])('leaves a host alone when %s', async (_, epoch, fields) => {
  expect(await released(epoch, fields)).toEqual([]);
});
