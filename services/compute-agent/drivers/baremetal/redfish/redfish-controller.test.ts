import { systemClock } from '#libs/runtime/system';
import { RedfishSimulator } from '../../../testing/redfish-simulator';
import type { ControllerOptions } from '../../../testing/simulated-controllers';
import { redfishController } from './redfish-controller';
import { type AskRedfish, askRedfish } from './redfish-http';
import { redfishServices } from './redfish-service';

let simulator: RedfishSimulator;
const clock = systemClock();

async function start(options: Partial<ControllerOptions> = {}): Promise<void> {
  simulator = await RedfishSimulator.start({ nodes: ['n1', 'n2'], ...options });
}
afterEach(() => simulator.stop());

/** Controllers of one agent. */
function agent(ask: AskRedfish = askRedfish) {
  const services = redfishServices({ user: 'berth', password: 'secret', timeoutMs: 5_000, clock, ask });
  return (node: string) => redfishController(node, simulator.systemUrl(node), services);
}
const controllerOf = (node: string, password = 'secret') =>
  redfishController(
    node,
    simulator.systemUrl(node),
    redfishServices({ user: 'berth', password, timeoutMs: 5_000, clock }),
  );
const SUPERSEDED = { code: 'aborted', reason: 'epoch_superseded' };

it('switches a node, and says whether it has booted', async () => {
  await start();
  const node = controllerOf('n1');
  await node.claim(7);
  expect(await node.status()).toMatchObject({ isOn: false, hasBooted: false });
  await node.setBootDevice('Pxe', true);
  await node.setPower('on');
  expect(await node.status()).toMatchObject({ isOn: true, hasBooted: true });
  await node.setPower('on');
  await node.setPower('reboot');
  await node.setPower('shutdown');
  expect(simulator.system('n1')).toMatchObject({ isOn: false, boots: ['Pxe', 'Hdd'], assetTag: '[berth 7]' });
  await node.close();
  expect(simulator.sessions('n1')).toEqual([]);
});

it('keeps what operators wrote into the asset tag', async () => {
  await start();
  simulator.system('n1').assetTag = 'Chicago-45Z-2381';
  await controllerOf('n1').claim(7);
  await controllerOf('n1').claim(8);
  expect(simulator.system('n1').assetTag).toBe('Chicago-45Z-2381 [berth 8]');
});

it('refuses all orders of an earlier epoch as soon as a later one has claimed the node', async () => {
  await start();
  const [before, after] = [controllerOf('n1'), controllerOf('n1')];
  await before.claim(7);
  await before.setPower('on');
  await after.claim(8);
  await expect(before.setPower('off')).rejects.toMatchObject(SUPERSEDED);
  await expect(before.setBootDevice('Pxe', true)).rejects.toMatchObject(SUPERSEDED);
  await expect(before.status()).rejects.toMatchObject(SUPERSEDED);
  await expect(before.claim(7)).rejects.toMatchObject(SUPERSEDED);
  await expect(controllerOf('n1').claim(7)).rejects.toMatchObject(SUPERSEDED);
  expect(simulator.system('n1').isOn).toBe(true);
  await after.setPower('off');
  expect(simulator.sessions('n1')).toEqual(['berth n1 8']);
});

it('claims a node though its controller ends all sessions meanwhile, unless it has another manager since', async () => {
  await start();
  const [before, after] = [controllerOf('n1'), controllerOf('n1')];
  let isDone = false;
  simulator.onRequest = (method) => {
    if (method === 'PATCH' && !isDone) {
      isDone = true;
      simulator.expireSessions();
    }
  };
  await after.claim(8);
  expect(simulator.system('n1').assetTag).toBe('[berth 8]');
  simulator.onRequest = (method) => {
    if (method === 'PATCH') simulator.expireSessions();
  };
  await expect(before.claim(7)).rejects.toMatchObject(SUPERSEDED);
});

it('goes on under a new session when its own has expired, unless the node has another manager since', async () => {
  await start();
  const [before, after] = [controllerOf('n1'), controllerOf('n1')];
  await before.claim(7);
  simulator.expireSessions();
  await before.setPower('on');
  await after.claim(8);
  simulator.expireSessions();
  await expect(before.setPower('off')).rejects.toMatchObject(SUPERSEDED);
  expect(simulator.system('n1').isOn).toBe(true);
});

it('leaves sessions of other nodes of the same service alone', async () => {
  await start({ isShared: true });
  const other = controllerOf('n2');
  await other.claim(3);
  await controllerOf('n1').claim(7);
  await controllerOf('n1').claim(8);
  await other.setPower('on');
  expect(simulator.sessions('n1').toSorted()).toEqual(['berth n1 8', 'berth n2 3']);
});

it.each([
  [true, 8, 6],
  [true, 64, 6],
  // Each list reads this many sessions, and all claims wait for the same lists.
  [false, 8, 12],
  [false, 64, 12],
])('takes nodes of one service over with requests in proportion (expands: %p, nodes: %i)', async (...of) => {
  const [canExpand, count, perNode] = of;
  const nodes = Array.from({ length: count }, (_, n) => `n${n}`);
  await start({ nodes, isShared: true, canExpand });
  const [before, after] = [agent(), agent()];
  await Promise.all(nodes.map((node) => before(node).claim(7)));
  let requests = 0;
  simulator.onRequest = () => {
    requests++;
  };
  await Promise.all(nodes.map((node) => after(node).claim(8)));
  expect(simulator.sessions('n1')).toEqual(['berth n0 8']);
  expect(requests).toBeLessThanOrEqual(perNode * count);
});

it('claims by no list of sessions that was begun before it left its mark', async () => {
  await start({ isShared: true });
  // An unmarked node has no former manager's session to end.
  for (const node of ['n1', 'n2']) await controllerOf(node).claim(1);
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let isHeld = () => {};
  const reached = new Promise<void>((resolve) => {
    isHeld = resolve;
  });
  const after = agent(async (url, request, timeoutMs) => {
    const answer = await askRedfish(url, request, timeoutMs);
    if (url.includes('$expand')) {
      isHeld();
      await held;
    }
    // Released once it asks for a list of sessions.
    if (request.method === 'PATCH' && url.endsWith('n1')) setImmediate(letGo);
    return answer;
  });
  const other = after('n2').claim(8);
  await reached;
  const before = controllerOf('n1');
  await before.claim(7);
  await Promise.all([other, after('n1').claim(8)]);
  await expect(before.setPower('on')).rejects.toMatchObject(SUPERSEDED);
  expect(simulator.sessions('n1')).toHaveLength(1);
});

it('lets one of two managers order, wherever the earlier one is held up while it claims', async () => {
  await start();
  await controllerOf('n1').claim(1);
  for (let heldAt = 1; heldAt <= 8; heldAt++) {
    const [earlier, later] = [controllerOf('n1'), controllerOf('n1')];
    let count = 0;
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let isHeld = () => {};
    const reached = new Promise<void>((resolve) => {
      isHeld = resolve;
    });
    simulator.onRequest = () => {
      count++;
      if (count !== heldAt) return;
      isHeld();
      return held;
    };
    const epoch = heldAt * 10;
    const ordering = earlier
      .claim(epoch)
      .then(() => earlier.setPower('on'))
      .then(
        () => 'ordered',
        (error: { reason: string }) => error.reason,
      );
    await Promise.race([reached, ordering]);
    simulator.onRequest = () => {};
    await later.claim(epoch + 1);
    await later.setPower('off');
    const from = simulator.orders.length;
    letGo();
    const outcome = await ordering;
    expect([heldAt, simulator.orders.slice(from).filter(({ context }) => context === `berth n1 ${epoch}`)]).toEqual([
      heldAt,
      [],
    ]);
    expect(['epoch_superseded', 'ordered']).toContain(outcome);
    expect(outcome === 'ordered' && count >= heldAt).toBe(false);
    expect(simulator.system('n1').isOn).toBe(false);
    await later.close();
  }
});

it('says that a controller does not answer, or refuses', async () => {
  await start();
  await expect(controllerOf('n1', 'wrong').claim(7)).rejects.toMatchObject({ reason: 'login_refused' });
  simulator.onRequest = () => {
    throw new Error('cut');
  };
  await expect(controllerOf('n1').claim(7)).rejects.toMatchObject({ code: 'unavailable', reason: 'controller_away' });
});

it('needs one session for ten systems of a chassis that has eight, and ends those that a killed agent left', async () => {
  const nodes = Array.from({ length: 10 }, (_, n) => `n${n}`);
  await start({ nodes, isShared: true, quirks: { maxSessions: 8 } });
  // Sessions of killed agents.
  for (let n = 0; n < 8; n++)
    await agent()('n0')
      .claim(n + 1)
      .catch(() => {});
  const after = agent();
  await Promise.all(nodes.map((node) => after(node).claim(20)));
  for (const node of nodes) await after(node).claim(20);
  expect(simulator.sessions('n1')).toHaveLength(1);
});

it('logs in with a wrong password once a minute at most', async () => {
  await start();
  const controller = controllerOf('n1', 'wrong');
  for (let n = 0; n < 20; n++) await expect(controller.claim(7)).rejects.toMatchObject({ reason: 'login_refused' });
  expect(simulator.refusedLogins).toBe(1);
});
