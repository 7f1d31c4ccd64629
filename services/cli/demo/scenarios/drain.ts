import { drainHost } from '#libs/client/drain/drain-host';
import type { Scenario, Stage } from './stage';

/** A host is drained while its instances run; one of them can't leave. */
export const drain: Scenario = {
  name: 'drain',
  purpose:
    'a host is drained: its instances leave while they run, one that can not says why, and it comes back to service',
  fleet: { hosts: 4, shape: { VCPU: 8, MEMORY_MB: 16_384 } },

  async play(stage) {
    const { client } = stage.fleet;
    const uuids = await stage.build(12, { VCPU: 2, MEMORY_MB: 2_048 });
    const [first = ''] = uuids;
    const { host } = await client.instance(first);
    const there = (await client.instances({ host })).length;
    await client.operateAndWait(first, 'stop', { timeoutMs: LIMIT_MS });
    stage.tell(`${uuids.length} instances run; of ${there} on ${host}, one is stopped`);
    await stage.show('before');

    stage.tell(`berth host drain ${host} --parallel 2`);
    const drained = await drainNow(stage, host);
    const [stays] = drained.filter((one) => one.stays !== undefined);
    stage.tell(`${drained.length - 1} have left; ${stays?.name} stays: ${stays?.stays}`);
    await stage.until('only what is stopped is still there', async () => {
      const left = await client.instances({ host });
      return left.length === 1 && left[0]?.uuid === first;
    });
    await stage.until('what has left runs elsewhere, and holds nothing here', async () => {
      const views = await Promise.all(
        drained.filter((one) => one.uuid !== first).map(({ uuid }) => client.instance(uuid)),
      );
      return views.every((one) => one.state === 'active' && one.host !== host && !one.migration);
    });

    await client.operateAndWait(first, 'start', { timeoutMs: LIMIT_MS });
    stage.tell('it is started, and the drain goes on');
    await drainNow(stage, host);
    await stage.until('the host is empty', async () => (await client.instances({ host })).length === 0);
    await stage.show('drained');

    await client.setHostEnabled(host, true);
    await stage.build(1, { VCPU: 8, MEMORY_MB: 2_048 });
    await stage.until('undrained, it gets new instances', async () => (await client.instances({ host })).length === 1);
  },
};

const LIMIT_MS = 20_000;

function drainNow({ fleet: { client }, context: { clock, interrupted: signal } }: Stage, host: string) {
  const options = { host, reason: 'drained', parallel: 2, timeoutMs: LIMIT_MS };
  return drainHost({ client, clock, signal, onProgress: () => {} }, options);
}
