import type { Scenario } from './stage';

/** Deleted claims, a claim without an instance, exited instances: Berth finds and repairs all of them. */
export const heal: Scenario = {
  name: 'heal',
  purpose: 'claims are deleted, one is leaked, instances die: Berth finds and repairs all of it',
  fleet: { hosts: 6, shape: { VCPU: 16, MEMORY_MB: 32_768 } },

  async play(stage) {
    const { client, placement, drivers } = stage.fleet;
    const { clock, random } = stage.context;
    const size = { VCPU: 2, MEMORY_MB: 2_048 };
    const uuids = await stage.build(24, size);
    stage.tell(`${uuids.length} instances run`);
    await stage.show('before');

    const victims = uuids.slice(0, 8);
    for (const consumer of await placement.consumers(victims)) {
      const { uuid: consumerUuid, claimToken } = consumer;
      await placement.commit({ kind: 'release_claim', atMs: clock.now(), consumerUuid, claimToken });
    }
    stage.tell(`an operator's script deletes the claims of ${victims.length} instances that run`);
    const [host] = await client.hosts();
    const leaked = random.uuid();
    await placement.commit({
      kind: 'write_allocations',
      atMs: clock.now(),
      consumers: [leakedClaim(leaked, host?.providerUuid ?? '', size)],
    });
    stage.tell('a conductor of an older day leaves a claim behind that nobody owns');
    const dead = uuids.slice(-3);
    for (const driver of drivers.values()) for (const uuid of dead) driver.exit(uuid, 'it ran out of memory');
    stage.tell(`${dead.length} instances die on their hosts`);

    await stage.until('what runs is claimed again', async () => {
      const held = await placement.consumers(victims);
      return held.filter(({ allocations }) => Object.keys(allocations).length > 0).length === victims.length;
    });
    await stage.until('those that died are in ERROR, with the reason, and hold nothing', async () => {
      const states = (await stage.instances()).filter(({ uuid }) => dead.includes(uuid));
      return states.every(({ state, fault }) => state === 'error' && fault?.reason === 'instance_lost');
    });
    await stage.until('the claim of nobody is released', async () => {
      const [claim] = await placement.consumers([leaked]);
      return claim === undefined || Object.keys(claim.allocations).length === 0;
    });
  },
};

function leakedClaim(uuid: string, providerUuid: string, resources: Readonly<Record<string, number>>) {
  return {
    uuid,
    projectId: 'demo',
    userId: 'demo',
    consumerType: 'INSTANCE',
    owner: 'conductor',
    allocations: { [providerUuid]: resources },
    mappings: {},
    expect: { kind: 'absent' },
  } as const;
}
