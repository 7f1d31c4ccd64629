import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
import { instanceEventCodec } from '#libs/contracts/instance';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { SCHEDULERS, TestFleet } from './fleet/test-fleet';

/* A rack of five hosts may be lost at any time, says a guarantee, on real servers; then its agent is killed. */

let fleet: TestFleet;
let client: Client;
/** Instances that some scheduler refused, by their events. */
const refused = new Set<string>();

beforeAll(async () => {
  fleet = await TestFleet.start({
    BERTH_AGENT_FAKE_FAILURE_RATE: '0',
    BERTH_AGENT_INVENTORY: 'VCPU=4,MEMORY_MB=65536,DISK_GB=1000',
    BERTH_CONDUCTOR_REBUILD_AFTER_MS: '1000',
    BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '1000',
    BERTH_LOG_LEVEL: 'info',
  });
  client = await connect({ url: fleet.credentials.brokerUrl('operator', fleet.brokerPort) });
  await fleet.bus.subscribe('instance.#', (_topic, { body }) => {
    const { instanceUuid, fault } = instanceEventCodec.decode(body);
    if (fault?.reason === 'no_valid_host') refused.add(instanceUuid);
  });
});
afterAll(async () => {
  await client?.close();
  await fleet?.stop();
});

/** The five hosts of one agent are a rack; those of the other are two. */
async function putIntoRacks(): Promise<void> {
  const hosts = (await fleet.rows()).hosts.map(({ name }) => name).sort();
  const ofB = hosts.filter((name) => name.startsWith('agent-b'));
  const racks = { r1: hosts.filter((name) => name.startsWith('agent-a')), r2: ofB.slice(0, 2), r3: ofB.slice(2) };
  for (const [rack, members] of Object.entries(racks)) {
    await client.aggregates.create(rack, { rack });
    for (const host of members) await client.aggregates.addHost(rack, host);
  }
}

async function build(vcpus: number, count: number): Promise<string[]> {
  const spec = aRequestSpec({ resources: { VCPU: vcpus, MEMORY_MB: 64 }, rebuildPolicy: 'evacuate' });
  const built = await client.buildAndWait({ spec, count });
  return built.filter(({ state }) => state === 'active').map(({ instanceUuid }) => instanceUuid);
}

it('has every guaranteed instance ACTIVE again after a rack is lost, by the plan, none refused', async () => {
  await putIntoRacks();
  const terms = { name: 'rack', lose: 'rack', count: 1, aggregate: '', minPriority: 0, policy: 'refuse' } as const;
  await client.setGuarantee(terms);
  // One request after the other, of odd sizes, until no more is admitted: 20 of the 40 VCPU must stay free.
  const uuids: string[] = [];
  for (const vcpus of [3, 2, 1]) {
    for (;;) {
      const built = await build(vcpus, 1);
      if (built.length === 0) break;
      uuids.push(...built);
    }
  }
  expect((await client.guarantees()).guarantees[0]).toMatchObject({ losses: 3, kept: 3 });
  expect(uuids.length).toBeGreaterThan(6);
  refused.clear();

  const places = await fleet.instances.get(uuids);
  const lost = places.filter(({ host }) => host?.startsWith('agent-a')).map(({ uuid }) => uuid);
  expect(lost.length).toBeGreaterThan(2);
  await fleet.kill('agent-a');
  await fleet.eventually('all run elsewhere', async () => {
    const now = await fleet.instances.get(uuids);
    return (
      now.every(({ state, host }) => state === 'active' && host?.startsWith('agent-b')) ||
      now.map(({ state, host }) => `${state} ${host}`)
    );
  });
  expect([...refused].filter((uuid) => uuids.includes(uuid))).toEqual([]);
  const moved = SCHEDULERS.flatMap((name) => fleet.linesOf(name)).filter((line) =>
    line.includes('"event":"guarantee_moved'),
  );
  expect(lost.filter((uuid) => !moved.some((line) => line.includes('_by_plan') && line.includes(uuid)))).toEqual([]);
  expect(moved.filter((line) => line.includes('_otherwise'))).toEqual([]);
  expect((await fleet.claims()).filter((claim) => claim.includes('agent-a'))).toEqual([]);

  // Back, the hosts destroy what runs elsewhere now.
  fleet.launch('agent-a');
  expect(await fleet.problems(uuids)).toEqual([]);
});
