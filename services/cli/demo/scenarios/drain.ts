import { drainHost } from '#libs/client/drain/drain-host';
import type { Scenario, Stage } from './stage';

/** A host with running and stopped instances is drained; one instance can't leave until a host can take it. */
export const drain: Scenario = {
  name: 'drain',
  purpose:
    'a host is drained: its instances leave, running or stopped, one that can not says why, and it comes back to service',
  fleet: { hosts: 4, shape: { VCPU: 8, MEMORY_MB: 16_384 } },

  async play(stage) {
    const { client } = stage.fleet;
    const group = { id: 'quorum', policy: 'anti-affinity', maxPerHost: 1 } as const;
    const members = await stage.build(4, { VCPU: 2, MEMORY_MB: 2_048 }, { group });
    const others = await stage.build(8, { VCPU: 2, MEMORY_MB: 2_048 });
    const [stopped = ''] = others;
    const { host } = await client.instance(stopped);
    const there = await client.instances({ host });
    const member = there.find(({ uuid }) => members.includes(uuid));
    await client.operateAndWait(stopped, 'stop', { timeoutMs: LIMIT_MS });
    stage.tell(
      `of ${there.length} instances on ${host} one is stopped, and one is of a group with a member on each host`,
    );
    await stage.show('before');

    stage.tell(`berth host drain ${host} --parallel 2`);
    const drained = await drainNow(stage, host);
    const [stays] = drained.filter((one) => one.stays !== undefined);
    stage.tell(`${drained.length - 1} have left; ${stays?.name} stays: ${stays?.stays}`);
    await stage.until('only what no other host may take is still there', async () => {
      const left = await client.instances({ host });
      return left.length === 1 && left[0]?.uuid === member?.uuid;
    });
    await stage.until('what has left is as it was elsewhere, and holds nothing here', async () => {
      const left = drained.filter(({ uuid }) => uuid !== member?.uuid).map(({ uuid }) => client.instance(uuid));
      return (await Promise.all(left)).every(({ uuid, state, host: where, migration }) => {
        return state === (uuid === stopped ? 'stopped' : 'active') && where !== host && !migration;
      });
    });
    await client.operateAndWait(stopped, 'start', { timeoutMs: LIMIT_MS });
    stage.tell(`what was stopped is started, on ${(await client.instance(stopped)).host}`);

    const another = members.find((uuid) => uuid !== member?.uuid) ?? '';
    await client.terminateAndWait(another, { timeoutMs: LIMIT_MS });
    stage.tell('another member of the group is terminated, and the drain goes on');
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
