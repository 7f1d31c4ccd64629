import type { Instance } from '#libs/domain/instance';
import type { Conductor } from '../conductor';
import { lookAt } from '../observation';
import { ConductorWorld } from '../testing/conductor-world';
import { recordRequeued } from './queueing';

it('leaves alone what was claimed since, when its host says again that it has made room', async () => {
  const world = new ConductorWorld();
  await world.open({ h1: 1 });
  let parts: Partial<Conductor> = {};
  const conductor = await world.conductor((deps) => {
    parts = deps;
    return deps;
  });
  await world.request();
  await world.clock.advance(0);
  const present = await world.only();
  const { uuid, claimToken = 0, version } = present;
  // As it was read before another conductor requeued it, and its turn came.
  const before = { ...present, state: 'preempting', claimToken: claimToken - 1, version: version - 1 } as Instance;
  const after = await recordRequeued(parts as Conductor, lookAt(before, { kind: 'interrupted' }), before);
  expect(after?.record).toMatchObject({ state: 'active' });
  expect(await world.claims()).toEqual([`${uuid} h1`]);
  await world.closed(conductor);
});
