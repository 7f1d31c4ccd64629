import type { Scenario } from './stage';

/** A host's agent dies; its instances are built elsewhere, and the host, once back, keeps no copy. */
export const evacuate: Scenario = {
  name: 'evacuate',
  purpose:
    'the agent of a host dies: its instances are evacuated, by policy and by hand, as they were; back, it keeps no copy',
  fleet: {
    hosts: 3,
    shape: { VCPU: 8, MEMORY_MB: 16_384 },
    hasOwnAgents: true,
    settings: { BERTH_CONDUCTOR_REBUILD_AFTER_MS: '1000', BERTH_AGENT_REPORT_TIMEOUT_MS: '500' },
  },

  async play(stage) {
    const { client, machines, drivers } = stage.fleet;
    const host = 'host-1';
    const size = { VCPU: 1, MEMORY_MB: 1_024 };
    await stage.build(3, size, { rebuildPolicy: 'evacuate' });
    await stage.build(6, size);
    const there = await client.instances({ host });
    const byHand = there.filter(({ requestSpec }) => requestSpec.rebuildPolicy === 'never');
    const byPolicy = there.filter(({ requestSpec }) => requestSpec.rebuildPolicy === 'evacuate');
    const [stopped] = byHand;
    if (stopped) await client.operateAndWait(stopped.uuid, 'stop', { timeoutMs: LIMIT_MS });
    stage.tell(
      `of ${there.length} instances on ${host}, ${byPolicy.length} ask to be evacuated by themselves; one is stopped`,
    );
    await stage.show('before');

    await machines.get(host)?.kill();
    stage.tell(`the agent of ${host} dies; what it runs runs on`);
    await stage.until('what asked for it runs elsewhere', async () => {
      const views = await Promise.all(byPolicy.map(({ uuid }) => client.instance(uuid)));
      return views.every((one) => one.state === 'active' && one.host !== host);
    });
    stage.tell('an operator evacuates the others');
    for (const { uuid } of byHand) await client.operate(uuid, 'evacuate');
    await stage.until('they are elsewhere as they were: one stopped, the others running', async () => {
      const views = await Promise.all(byHand.map(({ uuid }) => client.instance(uuid)));
      const isAsItWas = (uuid: string, state: string) => state === (uuid === stopped?.uuid ? 'stopped' : 'active');
      return views.every((one) => one.host !== host && isAsItWas(one.uuid, one.state));
    });
    await stage.show(`while ${host} is dead`);

    await machines.get(host)?.revive();
    stage.tell(`the agent of ${host} is back`);
    await stage.until('it has destroyed its copies', async () => (await drivers.get(host)?.list())?.length === 0);
    if (stopped) await client.operateAndWait(stopped.uuid, 'start', { timeoutMs: LIMIT_MS });
    stage.tell('the stopped one is started where it is now');
  },
};

const LIMIT_MS = 20_000;
