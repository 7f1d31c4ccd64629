import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import { createMetrics } from '#libs/runtime/metrics';
import type { Conductor } from './conductor';
import { makeConductor } from './make-conductor';
import { lookAt } from './observation';
import { reconcileLoop } from './reconcile-loop';
import { ConductorWorld } from './testing/conductor-world';

const away = new BerthError('unavailable', 'store_away', 'the store is away');

it('rejects, and leaves no other rejection behind, when a step fails while a scheduler is asked', async () => {
  const world = new ConductorWorld();
  await world.open({ h1: 10 });
  let conductor: Conductor | undefined;
  let answerCall: (answer: never) => void = () => {};
  const running = await world.conductor((deps) => {
    const made = makeConductor({ ...deps, metrics: createMetrics({}) }, new AbortController().signal);
    const bus = { call: () => new Promise((_, reject) => (answerCall = reject)) } as unknown as Conductor['bus'];
    const identify = () => deps.placement.identify();
    const consumers = () => Promise.reject(away);
    const placement = { ...deps.placement, identify, consumers } as unknown as Conductor['placement'];
    conductor = { ...made, bus, placement };
    return deps;
  });
  await world.request(2);
  await world.clock.advance(100);
  const [one, other] = (await world.all()) as [Instance, Instance];
  const looks = [
    lookAt({ ...one, state: 'scheduling', dueAtMs: 0 } as Instance, { kind: 'nothing' }),
    lookAt({ ...other, state: 'error' } as Instance, { kind: 'interrupted' }),
  ];
  const unhandled: unknown[] = [];
  const hear = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', hear);
  const outcome = reconcileLoop(conductor as Conductor, looks).catch((error: unknown) => error);
  // Node tells of what nobody handles after the microtasks of a tick.
  await new Promise((resolve) => setImmediate(resolve));
  answerCall(away as never);
  expect(await outcome).toBe(away);
  process.off('unhandledRejection', hear);
  expect(unhandled).toEqual([]);
  await world.closed(running);
});
