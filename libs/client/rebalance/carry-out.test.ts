import type { InstanceView } from '#libs/contracts/instance';
import type { PlannedMove } from '#libs/contracts/moves';
import type { InstanceOperation } from '#libs/contracts/operations';
import { BerthError } from '#libs/domain/errors';
import { fakeClock } from '#libs/testing/fake-clock';
import type { Moved, MovingClient } from './await-move';
import { carryOut } from './carry-out';

const KIND = 'live_migrate';

/** Instances whose moves are claimed and arrive at once, except those in `stuck`, which come back. */
class FakeClient implements MovingClient {
  readonly all: Map<string, InstanceView>;
  readonly asked: string[] = [];

  constructor(
    readonly moves: readonly PlannedMove[],
    readonly stuck: readonly string[] = [],
    readonly kind: 'migrate' | 'live_migrate' = KIND,
  ) {
    this.all = new Map(moves.map((move) => [move.instanceUuid, this.#seen(move, 'claimed')]));
  }

  async instance(uuid: string): Promise<InstanceView> {
    return this.all.get(uuid) as InstanceView;
  }

  async operate(uuid: string, operation: InstanceOperation, { targetHost = '' } = {}): Promise<InstanceView> {
    const move = this.moves.find(({ instanceUuid }) => instanceUuid === uuid) as PlannedMove;
    this.asked.push(`${operation} ${uuid}`);
    const home = { ...this.#seen(move, 'claimed'), state: 'active', migration: undefined } as InstanceView;
    const fault = new BerthError('failed_precondition', 'not_arrived', 'it did not');
    const away = { ...home, host: move.destHost };
    const arrived = this.kind === 'migrate' ? { ...this.#seen(move, 'arrived'), ...VERIFY, host: move.destHost } : away;
    const isBack = operation === 'revert' || targetHost === move.sourceHost;
    const isThere = operation === 'confirm' ? away : arrived;
    this.all.set(uuid, isBack ? home : this.stuck.includes(uuid) ? { ...home, fault } : isThere);
    return this.instance(uuid);
  }

  #seen(move: PlannedMove, phase: 'claimed' | 'arrived'): InstanceView {
    const { instanceUuid: uuid, sourceHost, destHost } = move;
    const migration = { uuid, kind: this.kind, sourceHost, destHost, confirmAtMs: 0, phase };
    return { uuid, host: sourceHost, state: 'migrating', fault: undefined, migration } as unknown as InstanceView;
  }
}

const VERIFY = { state: 'verify_resize' } as const;

const moves = Array.from({ length: 4 }, (_, n) => ({ instanceUuid: `i${n}`, sourceHost: 'h1', destHost: `h${n + 2}` }));
const outcomes = (moved: readonly Moved[]) =>
  moved.map(({ move, outcome }) => `${move.instanceUuid} ${outcome}`).sort();

async function carriedOut(client: FakeClient, signal = new AbortController().signal): Promise<readonly Moved[]> {
  const clock = fakeClock();
  const all = carryOut({ client, clock, signal, onProgress: () => {} }, moves, { parallel: 1, timeoutMs: 10_000 });
  for (let n = 0; n < 20; n++) await clock.advance(1_000);
  return all;
}

it('begins each move that is claimed, and is done when all have arrived', async () => {
  const client = new FakeClient(moves);
  expect(outcomes(await carriedOut(client))).toEqual(moves.map(({ instanceUuid }) => `${instanceUuid} moved`));
  expect([...client.all.values()].map(({ host }) => host)).toEqual(moves.map(({ destHost }) => destHost));
});

it('confirms what was moved cold only when all have arrived', async () => {
  const client = new FakeClient(moves, [], 'migrate');
  await carriedOut(client);
  expect(client.asked.slice(4)).toEqual(moves.map(({ instanceUuid }) => `confirm ${instanceUuid}`));
});

it.each([KIND, 'migrate'] as const)('undoes all when one fails, and says why (%s)', async (kind) => {
  const client = new FakeClient(moves, ['i2'], kind);
  const moved = await carriedOut(client);
  expect(outcomes(moved)).toEqual(['i0 undone', 'i1 undone', 'i2 failed', 'i3 undone']);
  expect(moved.find(({ outcome }) => outcome === 'failed')?.why).toBe('not_arrived: it did not');
  expect([...client.all.values()].every(({ host, state }) => host === 'h1' && state === 'active')).toBe(true);
});

it('says what could not be undone', async () => {
  const client = new FakeClient(moves, ['i2']);
  const operate = client.operate.bind(client);
  client.operate = async (uuid, operation, options) => {
    if (uuid === 'i0' && options?.targetHost)
      throw new BerthError('failed_precondition', 'instance_state', 'it is stopped');
    return operate(uuid, operation, options);
  };
  const moved = await carriedOut(client);
  expect(moved.find(({ outcome }) => outcome === 'not_undone')).toMatchObject({ why: 'instance_state: it is stopped' });
});

const away = () => new BerthError('unavailable', 'no_such_queue', 'nobody serves it now');

it('goes on with a move whose call was not answered, though it was begun', async () => {
  const client = new FakeClient(moves);
  const operate = client.operate.bind(client);
  const look = client.instance.bind(client);
  let lost = 2;
  client.operate = async (uuid, operation, options) => {
    const after = await operate(uuid, operation, options);
    if (lost-- > 0) throw away();
    return after;
  };
  let silent = 3;
  client.instance = async (uuid) => {
    if (silent-- > 0) throw away();
    return look(uuid);
  };
  expect(outcomes(await carriedOut(client))).toEqual(moves.map(({ instanceUuid }) => `${instanceUuid} moved`));
  expect(client.asked).toHaveLength(moves.length);
});

it('takes back what has failed and is still on its way', async () => {
  const client = new FakeClient(moves);
  const operate = client.operate.bind(client);
  client.operate = async (uuid, operation, options) => {
    const before = await client.instance(uuid);
    if (uuid !== 'i1' || operation !== KIND) return operate(uuid, operation, options);
    // Begun, and it never arrives.
    const phase = 'arriving' as const;
    client.all.set(uuid, { ...before, migration: before.migration && { ...before.migration, phase } });
    return client.instance(uuid);
  };
  const moved = await carriedOut(client);
  expect(outcomes(moved)).toEqual(['i0 undone', 'i1 failed', 'i2 undone', 'i3 undone']);
  expect(moved.find(({ outcome }) => outcome === 'failed')?.why).toBe('it has not arrived in 10 s');
  expect([...client.all.values()].every(({ host, migration }) => host === 'h1' && migration === undefined)).toBe(true);
});

it('says what has failed and could not be taken back, with both reasons', async () => {
  const client = new FakeClient(moves, ['i1']);
  const look = client.instance.bind(client);
  let isAway = false;
  const operate = client.operate.bind(client);
  client.operate = async (uuid, operation, options) => {
    if (uuid === 'i1') throw new BerthError('failed_precondition', 'instance_state', 'it can not');
    if (operation === 'revert') isAway = true;
    return operate(uuid, operation, options);
  };
  client.instance = async (uuid) => {
    if (isAway && uuid === 'i1') throw away();
    return look(uuid);
  };
  const moved = await carriedOut(client);
  const why = 'instance_state: it can not; it was not back in 10 s, no_such_queue: nobody serves it now';
  expect(moved.find(({ move }) => move.instanceUuid === 'i1')).toMatchObject({ outcome: 'not_undone', why });
});

it('tells of each move how it went when one can not be confirmed', async () => {
  const client = new FakeClient(moves, [], 'migrate');
  const operate = client.operate.bind(client);
  client.operate = async (uuid, operation, options) => {
    if (operation === 'confirm' && uuid === 'i1') throw new BerthError('internal', 'broken', 'it broke');
    return operate(uuid, operation, options);
  };
  const moved = await carriedOut(client);
  expect(outcomes(moved)).toEqual(['i0 moved', 'i1 not_confirmed', 'i2 moved', 'i3 moved']);
  expect(moved.find(({ outcome }) => outcome === 'not_confirmed')?.why).toBe('broken: it broke');
});

it('confirms no more at once than it may', async () => {
  const client = new FakeClient(moves, [], 'migrate');
  const operate = client.operate.bind(client);
  let now = 0;
  let most = 0;
  client.operate = async (uuid, operation, options) => {
    most = Math.max(most, ++now);
    await new Promise<void>((resolve) => setImmediate(resolve));
    now--;
    return operate(uuid, operation, options);
  };
  await carriedOut(client);
  expect(most).toBe(1);
});

it('leaves claimed what it has not begun when it is interrupted, and goes on with that when it is begun again', async () => {
  const interrupted = new AbortController();
  const client = new FakeClient(moves);
  const operate = client.operate.bind(client);
  client.operate = async (uuid, operation, options) => {
    if (uuid === 'i1') interrupted.abort();
    return operate(uuid, operation, options);
  };
  expect(outcomes(await carriedOut(client, interrupted.signal))).toEqual([
    'i0 moved',
    'i1 moved',
    'i2 waits',
    'i3 waits',
  ]);
  client.operate = operate;
  expect(outcomes(await carriedOut(client))).toEqual(moves.map(({ instanceUuid }) => `${instanceUuid} moved`));
});
