import { systemClock } from '#libs/runtime/system';
import { printFigure } from './fleet/figures';
import { CUTS, type Cut, type Server } from './fleet/proxy';
import { AGENTS, CONDUCTORS, SCHEDULERS, TENANT, TestFleet } from './fleet/test-fleet';

/* Every process cut off from each server that it uses, all of its kind at once, in the middle of builds and terminations. */

const BUILDS = 20;
/** Twice the beat of the broker's connections, and a check of it; the store's silence; and a slow machine. */
const NOTICE_MS = 15_000;

const clock = systemClock();
let fleet: TestFleet;
let last: readonly string[] = [];
beforeAll(async () => {
  const settings = {
    BERTH_BUS_HEARTBEAT_S: '1',
    BERTH_BUS_RECONNECT_DELAY_MS: '500',
    BERTH_BUS_CONFIRM_TIMEOUT_MS: '2000',
    BERTH_STORE_TIMEOUT_MS: '1000',
    BERTH_AGENT_FAKE_FAILURE_RATE: '0',
  };
  fleet = await TestFleet.start(settings, { hasProxies: true });
});
afterAll(() => fleet?.stop());

const PAIRS: readonly (readonly [string, readonly string[], Server])[] = [
  ['schedulers', SCHEDULERS, 'broker'],
  ['conductors', CONDUCTORS, 'broker'],
  ['agents', AGENTS, 'broker'],
  ['the tenant', [TENANT], 'broker'],
  ['schedulers', SCHEDULERS, 'store'],
  ['conductors', CONDUCTORS, 'store'],
];
const CASES = PAIRS.flatMap(([who, names, server]) => CUTS.map((cut) => ({ who, names, server, cut })));

/** Resolves when each of them says that its connection is gone; never when a cut only makes everything late. */
async function noticed(names: readonly string[], server: Server, saidBefore: readonly number[]): Promise<void> {
  const event = server === 'broker' ? 'bus_disconnected' : 'store_unavailable';
  const notices = names.map((name, n) => fleet.hasLogged(name, event, saidBefore[n]));
  await Promise.all(notices);
}

it.each(CASES)('$who and the $server, $cut: all comes to its end', async ({ who, names, server, cut }) => {
  const uuids = await fleet.request(BUILDS);
  await fleet.atRest(uuids, BUILDS / 4);
  const cutAtMs = clock.elapsed();
  const saidBefore = names.map((name) => fleet.said(name));
  const proxies = names.map((name) => fleet.proxies?.of(name, server));
  for (const proxy of proxies) proxy?.cut(cut);
  const meanwhile = Promise.all([fleet.request(BUILDS), fleet.terminate(last)]);
  const wait: Record<Cut, () => Promise<unknown>> = {
    delay: () => meanwhile.then(([more]) => fleet.atRest(more)),
    'black hole': () => noticed(names, server, saidBefore),
    'half-open': () => noticed(names, server, saidBefore),
    'lost answers': () => noticed(names, server, saidBefore),
  };
  await wait[cut]();
  const noticedMs = clock.elapsed() - cutAtMs;
  for (const proxy of proxies) proxy?.heal();
  const healedAtMs = clock.elapsed();
  const [more] = await meanwhile;
  last = [...uuids, ...more];
  expect(await fleet.problems(last)).toEqual([]);
  const right = clock.elapsed() - healedAtMs;
  printFigure(`${cut} between ${who} and the ${server}`, cut === 'delay' ? { right } : { noticed: noticedMs, right });
  expect(noticedMs).toBeLessThan(cut === 'delay' ? Infinity : NOTICE_MS);
});
