import { BerthError } from '#libs/domain/errors';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemRandom } from '#libs/runtime/system';
import { fakeClock } from '#libs/testing/fake-clock';
import type { NodeController } from '../drivers/baremetal/node-controller';
import { HostLease } from '../holding/host-lease';
import { claimEarly } from './claim-early';
import type { NodeStoreParts } from './node-store';

const clock = fakeClock();
const never = new AbortController().signal;
const config = { nodePollMs: 1_000, retryMaxMs: 5_000 } as NodeStoreParts['config'];
const claim = claimEarly({
  bus: undefined as never,
  config,
  clock,
  random: systemRandom,
  log: silentLog,
  metrics: createMetrics({}),
  drainEnd: never,
});

function heldLease(epoch: number): HostLease {
  const lease = new HostLease('node-1', clock, 60_000, () => {});
  lease.grant(epoch, clock.elapsed());
  return lease;
}

/** A controller with prepared answers, and the epochs of its claims. */
function controllerThat(answers: readonly ('takes' | BerthError)[]) {
  const epochs: number[] = [];
  const left = [...answers];
  const controller: Pick<NodeController, 'claim' | 'status'> = {
    async claim(epoch) {
      epochs.push(epoch);
      const next = left.shift();
      if (next instanceof BerthError) throw next;
    },
    status: async () => ({ isOn: false, hasBooted: false }),
  };
  return { epochs, controller };
}

const away = new BerthError('unavailable', 'controller_away', 'no answer');
const fenced = new BerthError('aborted', 'epoch_superseded', 'another');

it('claims a node under the epoch by which it is held, until its controller has answered', async () => {
  const { epochs, controller } = controllerThat([away, away, 'takes']);
  const claiming = claim(heldLease(7), controller, never);
  await clock.advance(20_000);
  await claiming;
  expect(epochs).toEqual([7, 7, 7]);
});

it('ends when another has claimed it since', async () => {
  const { epochs, controller } = controllerThat([fenced]);
  await claim(heldLease(7), controller, never);
  expect(epochs).toEqual([7]);
});

it('claims a node that was not surely held for a while, and is held still', async () => {
  const { epochs, controller } = controllerThat(['takes']);
  const lease = heldLease(7);
  await clock.advance(60_000);
  const claiming = claim(lease, controller, never);
  await clock.advance(10_000);
  expect(epochs).toEqual([]);
  lease.renew(clock.elapsed());
  await clock.advance(10_000);
  await claiming;
  expect(epochs).toEqual([7]);
});

it('claims nothing that is not surely held any more', async () => {
  const { epochs, controller } = controllerThat([away, 'takes']);
  const lease = heldLease(7);
  const claiming = claim(lease, controller, never);
  await clock.advance(10);
  lease.giveUp();
  await clock.advance(20_000);
  await claiming;
  expect(epochs).toEqual([7]);
});
