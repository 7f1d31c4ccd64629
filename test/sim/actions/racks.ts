import { callMethod } from '#libs/bus/typed-calls';
import { addAggregateHostMethod, createAggregateMethod } from '#libs/contracts/aggregates';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { sleep } from '#libs/domain/clock';
import { HOSTS, RACK_NAMES, RACKS, rackOf } from '../settings';
import type { World } from './common';

/** The scheduler's calls are tried again for so long while things are out of order. */
const TRIES = 30;

/**
 * An operator puts every other host into one rack, the rest into the other, and waits until each scheduler knows of both:
 * what is decided from then on compares the two. Again, it changes nothing. False when it could not be done.
 */
export async function putIntoRacks({ fleet }: World): Promise<boolean> {
  const { bus, process } = fleet.member('operator');
  const calls = [
    ...RACK_NAMES.map((rack) => {
      const request = { uuid: RACKS[rack], name: rack, metadata: { rack } };
      return () => callMethod({ bus, queue: RPC_SCHEDULER }, createAggregateMethod, request, { timeoutMs: 1_000 });
    }),
    ...HOSTS.map((host) => {
      const request = { aggregate: rackOf(host) as string, host };
      return () => callMethod({ bus, queue: RPC_SCHEDULER }, addAggregateHostMethod, request, { timeoutMs: 1_000 });
    }),
    async () => {
      const mirrors = ['scheduler-1', 'scheduler-2'].map((name) => fleet.member(name).mirror);
      const isKnown = mirrors.every((mirror) => Object.values(RACKS).every((uuid) => mirror?.hostsIn(uuid).size === 2));
      if (!isKnown) throw new Error('not every scheduler knows of the racks');
    },
  ];
  for (const call of calls) {
    for (let tried = 0; ; tried++) {
      const isDone = await call().then(
        () => true,
        () => false,
      );
      if (isDone) break;
      if (tried === TRIES) return false;
      await sleep(process.clock, 200);
    }
  }
  return true;
}
