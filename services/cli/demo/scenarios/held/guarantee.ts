import type { Client } from '#libs/client/client';
import { requestFor } from '../../workload';
import type { Scenario } from '../stage';

const RACKS: Readonly<Record<string, readonly string[]>> = {
  r1: ['host-1', 'host-2'],
  r2: ['host-3', 'host-4'],
  r3: ['host-5', 'host-6'],
};

/** One rack may be lost at any time: requests that would need its place are refused, and when it is lost all runs again. */
export const guarantee: Scenario = {
  name: 'guarantee',
  purpose:
    'one rack may be lost at any time: what would need its place is refused, and when a rack dies all of it runs again',
  fleet: {
    hosts: 6,
    shape: { VCPU: 4, MEMORY_MB: 16_384 },
    hasOwnAgents: true,
    settings: { BERTH_CONDUCTOR_REBUILD_AFTER_MS: '1000', BERTH_AGENT_REPORT_TIMEOUT_MS: '500' },
  },

  async play(stage) {
    const { client, machines } = stage.fleet;
    for (const [rack, hosts] of Object.entries(RACKS)) {
      await client.aggregates.create(rack, { rack });
      for (const host of hosts) await client.aggregates.addHost(rack, host);
    }
    await client.setGuarantee({
      name: '1-rack',
      lose: 'rack',
      count: 1,
      aggregate: '',
      minPriority: 0,
      policy: 'refuse',
    });
    stage.tell('berth guarantee set --lose 1 rack: three racks of two hosts, 24 VCPU in all, 8 in each rack');
    const size = { VCPU: 1, MEMORY_MB: 512 };
    const placed = await stage.build(12, size, { rebuildPolicy: 'evacuate' });
    stage.tell(await sentence(client, '12 instances are built'));
    await stage.show('before');

    const refused = await client.buildAndWait(
      { ...requestFor('more', size, 'demo'), count: 5 },
      { timeoutMs: LIMIT_MS },
    );
    const whys = await Promise.all(
      refused.map(async ({ instanceUuid }) => (await client.instance(instanceUuid)).fault),
    );
    stage.check(
      'five more are refused',
      whys.every((fault) => fault?.message.includes('no_failover_capacity')),
    );
    stage.tell('five more are refused, though 12 VCPU are free:');
    stage.tell(stage.context.terminal.colours.dim(whys[0]?.message ?? ''));

    for (const host of RACKS['r1'] ?? []) await machines.get(host)?.kill();
    stage.tell('rack r1 loses power');
    await stage.until('every instance is ACTIVE again, on the other racks', async () => {
      const views = await Promise.all(placed.map((uuid) => client.instance(uuid)));
      return views.every(({ state, host }) => state === 'active' && !RACKS['r1']?.includes(host ?? ''));
    });
    stage.tell(await sentence(client, 'now'));
    await stage.show('without r1');
    for (const host of RACKS['r1'] ?? []) await machines.get(host)?.revive();
    stage.tell('rack r1 is back');
    await stage.until('the guarantee holds again', async () => {
      const [status] = (await client.guarantees()).guarantees;
      return status !== undefined && status.kept === status.losses && status.unread === 0;
    });
  },
};

const LIMIT_MS = 20_000;

async function sentence(client: Client, when: string): Promise<string> {
  const [status] = (await client.guarantees()).guarantees;
  const { kept = 0, losses = 0 } = status ?? {};
  return `${when}: ${kept} of ${losses} racks may be lost`;
}
