import type { Client } from '#libs/client/client';
import { NO_ADMISSION } from '#libs/domain/queueing/admission';
import { requestFor } from '../../workload';
import type { Scenario } from '../stage';

const UNIT = { VCPU: 2, MEMORY_MB: 2_048 };
const NAME = 'night';
/** Until its window begins. */
const NOTICE_MS = 14_000;
const WINDOW_MS = 60_000;
const LIMIT_MS = 20_000;

/** Capacity is held for a project: what ends in time fills the gap before, a lost host is noticed early, and then it is used. */
export const reservation: Scenario = {
  name: 'reservation',
  purpose: 'capacity is held for a project from a time on: what ends before fills the gap, and nothing else takes it',
  fleet: {
    hosts: 4,
    shape: { VCPU: 4, MEMORY_MB: 16_384 },
    settings: { BERTH_SCHEDULER_BACKFILL_MARGIN_MS: '2000' },
  },

  async play(stage) {
    const { client } = stage.fleet;
    const fromMs = stage.context.clock.now() + NOTICE_MS;
    const { spec } = requestFor('unit', UNIT, 'science');
    const created = await client.createReservation({
      name: NAME,
      fromMs,
      untilMs: fromMs + WINDOW_MS,
      count: 6,
      spec,
    });
    stage.tell(`berth reservation create ${NAME}: 6 units of 2 VCPU for science, from 14 s on, of 16 VCPU in all`);
    stage.tell(`held on ${created.hosts.map(({ host, units }) => `${host} (${units})`).join(', ')}`);

    await stage.build(2, UNIT);
    stage.tell('two instances without a time limit take the rest');
    const third = await buildFor(client, 'demo', 1);
    stage.check('a third finds no host', third.states.join() === 'error');
    stage.tell('a third finds no host, though 12 VCPU are idle; berth explain says:');
    const { hosts } = await client.explain(requestFor('', UNIT, 'demo').spec, { host: 'host-1' });
    stage.tell(stage.context.terminal.colours.dim(hosts[0]?.refusals.join('; ') ?? ''));

    const admission = { ...NO_ADMISSION, timeLimitMs: 3_000 };
    const short = await client.buildAndWait(
      { ...requestFor('short', UNIT, 'batch'), count: 6, admission },
      { timeoutMs: LIMIT_MS },
    );
    stage.check(
      'six that end in time are placed',
      short.every(({ state }) => state === 'active'),
    );
    stage.tell('six with --time-limit 3s end before it begins, and fill the gap');
    await stage.show('the gap is filled');
    await stage.until('they have ended', async () => {
      const views = await Promise.all(short.map(({ instanceUuid }) => client.instance(instanceUuid)));
      return views.every(({ state }) => state === 'deleted');
    });

    const host = created.hosts[0]?.host ?? '';
    await client.setHostEnabled(host, false, 'a fan failed');
    await stage.until(`${host} is disabled: the reservation is at risk before it begins`, () =>
      isIn(client, 'at_risk'),
    );
    stage.tell(stage.context.terminal.colours.dim((await client.reservations(NAME))[0]?.reason ?? ''));
    await client.setHostEnabled(host, true);
    await stage.until(`${host} is enabled: each unit has a host again`, () => isIn(client, 'held'));

    await stage.until('the window begins', async () => stage.context.clock.now() >= fromMs);
    const science = await buildFor(client, 'science', 6, NAME);
    stage.check(
      'six of science are ACTIVE',
      science.states.every((state) => state === 'active'),
    );
    stage.tell(`science builds six with --reservation ${NAME}: all are ACTIVE`);
    stage.tell(`one more: ${(await buildFor(client, 'science', 1, NAME)).fault}`);
  },
};

async function isIn(client: Client, state: string): Promise<boolean> {
  return (await client.reservations(NAME))[0]?.state === state;
}

async function buildFor(client: Client, project: string, count: number, within?: string) {
  const request = requestFor(project, UNIT, project);
  const events = await client.buildAndWait(
    { ...request, spec: { ...request.spec, reservation: within }, count },
    { timeoutMs: LIMIT_MS },
  );
  const [first] = events;
  const fault = first && (await client.instance(first.instanceUuid)).fault?.message;
  return { states: events.map(({ state }) => state), fault: fault ?? '' };
}
