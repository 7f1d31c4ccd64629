import { migrationUuidOf } from '#libs/domain/moves/migration';
import type { Scenario, Stage } from './stage';

/** Instances are resized and migrated: some are confirmed, one is reverted, one fails, one moves live. */
export const resize: Scenario = {
  name: 'resize',
  purpose: 'instances are resized and migrated: confirmed, reverted, refused; each holds what it has, and never more',
  fleet: { hosts: 4, shape: { VCPU: 8, MEMORY_MB: 16_384 } },

  async play(stage) {
    const { client } = stage.fleet;
    const uuids = await stage.build(8, { VCPU: 2, MEMORY_MB: 2_048 });
    const [grown = '', undone = '', moved = '', live = ''] = uuids;
    stage.tell(`${uuids.length} instances of 2 VCPUs run`);
    await stage.show('before');

    const before = (await client.instance(undone)).host;
    const grownFrom = (await client.instance(grown)).host;
    const resizeTo = { resources: { VCPU: 4, MEMORY_MB: 4_096 } };
    await Promise.all([grown, undone].map((uuid) => client.operate(uuid, 'resize', { resizeTo })));
    stage.tell('two of them are resized to 4 VCPUs');
    await stage.until('both run with their new size, and on another host their old one is held, too', async () => {
      const views = await Promise.all([grown, undone].map((uuid) => client.instance(uuid)));
      const sizes = await Promise.all([grown, undone].map((uuid) => held(stage, uuid)));
      // In place the larger of both sizes is held, which is the new one.
      const keptBeside = views.map(({ host }, n) => (host === [grownFrom, before][n] ? 0 : 2));
      const have = sizes.every(({ own, kept }, n) => own === 4 && kept === keptBeside[n]);
      return have && views.every(({ state }) => state === 'verify_resize');
    });
    await stage.show('before it is decided');

    await client.operate(grown, 'confirm');
    await client.operate(undone, 'revert');
    stage.tell('one is confirmed, one reverted');
    await stage.until('the confirmed one has 4 VCPUs, and its old claim is free', async () => {
      const { own, kept } = await held(stage, grown);
      return own === 4 && kept === 0;
    });
    await stage.until('the reverted one is where and as it was', async () => {
      const { own, kept } = await held(stage, undone);
      const { state, host } = await client.instance(undone);
      return state === 'active' && host === before && own === 2 && kept === 0;
    });

    await client.operate(undone, 'resize', { resizeTo: { resources: { VCPU: 64, MEMORY_MB: 4_096 } } });
    await stage.until('64 VCPUs no host has: it stays as it is, and says why', async () => {
      const { state, fault } = await client.instance(undone);
      return state === 'active' && fault?.reason === 'no_valid_host' && (await held(stage, undone)).own === 2;
    });

    const from = (await Promise.all([moved, live].map((uuid) => client.instance(uuid)))).map(({ host }) => host);
    await client.operate(moved, 'migrate', { confirmAfterMs: 500 });
    await client.operate(live, 'live_migrate');
    stage.tell('an operator migrates one, to be confirmed by itself, and another while it runs');
    await stage.until('both run on other hosts, and nothing is held where they were', async () => {
      const views = await Promise.all([moved, live].map((uuid) => client.instance(uuid)));
      return views.every(({ state, host, migration }, n) => state === 'active' && host !== from[n] && !migration);
    });
  },
};

/** The VCPUs held by an instance and by its migration. */
async function held({ fleet: { placement } }: Stage, uuid: string): Promise<{ own: number; kept: number }> {
  const claims = await placement.consumers([uuid, migrationUuidOf(uuid)]);
  const vcpusOf = (one: string) =>
    Object.values(claims.find((claim) => claim.uuid === one)?.allocations ?? {}).reduce(
      (sum, { VCPU = 0 }) => sum + VCPU,
      0,
    );
  return { own: vcpusOf(uuid), kept: vcpusOf(migrationUuidOf(uuid)) };
}
