import type { InstanceView } from '#libs/contracts/instance';
import type { MoveInstancesResponse } from '#libs/contracts/moves';
import { BerthError } from '#libs/domain/errors';
import { fakeClock } from '#libs/testing/fake-clock';
import { type DrainClient, type Drained, drainHost } from './drain-host';
import { nextMove } from './next-move';

const fault = (reason: string) => new BerthError('failed_precondition', reason, 'why');
const migration = (sourceHost: string) =>
  ({ uuid: '', kind: 'migrate', sourceHost, destHost: '', confirmAtMs: 0 }) as const;
const seen = (fields: Partial<InstanceView> = {}) => {
  return { host: 'h1', state: 'active', fault: undefined, migration: undefined, ...fields } as const;
};

it.each([
  ['moves what runs there while it runs', seen(), [], { kind: 'move', operation: 'live_migrate' }],
  [
    'stops and starts what can not be moved while it runs',
    seen({ fault: fault('live_migration_unsupported') }),
    ['live_migrate'],
    { kind: 'move', operation: 'migrate' },
  ],
  [
    'does not try cold what has no other host',
    seen({ fault: fault('no_valid_host') }),
    ['live_migrate'],
    { kind: 'stays' },
  ],
  ['tries no third time', seen({ fault: fault('not_arrived') }), ['live_migrate', 'migrate'], { kind: 'stays' }],
  ['goes by an older fault only after a try', seen({ fault: fault('no_valid_host') }), [], { kind: 'move' }],
  ['waits for what is under way', seen({ state: 'migrating', migration: migration('h1') }), [], { kind: 'wait' }],
  ['waits for a build', seen({ state: 'building' }), [], { kind: 'wait' }],
  [
    'confirms what has left and is kept there',
    seen({ host: 'h2', state: 'verify_resize', migration: migration('h1') }),
    [],
    { kind: 'confirm' },
  ],
  [
    'leaves to others what came there and is not confirmed',
    seen({ state: 'verify_resize', migration: migration('h2') }),
    [],
    { kind: 'stays' },
  ],
  ['moves what is stopped cold', seen({ state: 'stopped' }), [], { kind: 'move', operation: 'migrate' }],
  [
    'tries what is stopped once',
    seen({ state: 'stopped', fault: fault('not_arrived') }),
    ['migrate'],
    { kind: 'stays' },
  ],
  [
    'moves what a live migration left stopped',
    seen({ state: 'stopped', fault: fault('not_arrived') }),
    ['live_migrate'],
    { kind: 'move', operation: 'migrate' },
  ],
  [
    'waits until the source of what is stopped is free',
    seen({ host: 'h2', state: 'stopped', migration: migration('h1') }),
    [],
    { kind: 'wait' },
  ],
  ['leaves what nobody hears of', seen({ state: 'unknown' }), [], { kind: 'stays' }],
  ['is done with what runs elsewhere', seen({ host: 'h2' }), [], { kind: 'gone' }],
  ['waits until its source is free', seen({ host: 'h2', migration: migration('h1') }), [], { kind: 'wait' }],
  ['is done with what has ended', seen({ state: 'deleted' }), [], { kind: 'gone' }],
] as const)('%s', (_what, instance, tried, expected) => {
  expect(nextMove('h1', instance, tried)).toMatchObject(expected);
});

/** Live migrations move instances at once, except those in `stubborn`, which have no other host. */
class FakeClient implements DrainClient {
  readonly moved: string[] = [];
  readonly together: string[] = [];
  togetherBy = 'live_migrate';
  /** Errors that the next joint calls end with. */
  readonly throws: BerthError[] = [];
  enabled = true;

  constructor(
    readonly all: Map<string, InstanceView>,
    readonly stubborn: readonly string[] = [],
  ) {}

  async setHostEnabled(_host: string, enabled: boolean): Promise<never> {
    this.enabled = enabled;
    return undefined as never;
  }

  async instances({ host, state }: { host?: string; state?: string | undefined } = {}): Promise<InstanceView[]> {
    const matches = (one: InstanceView) => (!host || one.host === host) && (!state || one.state === state);
    return [...this.all.values()].filter(matches);
  }

  async instance(uuid: string): Promise<InstanceView> {
    return this.all.get(uuid) as InstanceView;
  }

  /** A group that can't leave live is claimed cold; each member goes in turn. */
  async moveInstances(operation: string, moves: readonly { instanceUuid: string }[]): Promise<MoveInstancesResponse> {
    this.together.push(`${operation} ${moves.map(({ instanceUuid }) => instanceUuid).join(' ')}`);
    const thrown = this.throws.shift();
    if (thrown) throw thrown;
    if (operation !== this.togetherBy)
      return { moves: [], refusedInstanceUuid: '', refusal: 'no host for all of them' };
    for (const { instanceUuid } of moves) {
      const claimed = { ...migration('h1'), phase: 'claimed', kind: operation } as InstanceView['migration'];
      this.all.set(instanceUuid, { ...(await this.instance(instanceUuid)), state: 'resize', migration: claimed });
    }
    return { moves: [], refusedInstanceUuid: '', refusal: '' };
  }

  async operate(uuid: string): Promise<InstanceView> {
    const before = await this.instance(uuid);
    const isStubborn = this.stubborn.includes(uuid);
    const after = isStubborn ? { fault: fault('no_valid_host') } : seen({ host: 'h2' });
    this.all.set(uuid, { ...before, ...after });
    this.moved.push(uuid);
    return this.instance(uuid);
  }
}

const instances = (count: number, requestSpec: object = {}) =>
  new Map(
    Array.from({ length: count }, (_, n) => [
      `i${n}`,
      { ...seen(), uuid: `i${n}`, name: `web-${n}`, projectId: 'p', requestSpec } as unknown as InstanceView,
    ]),
  );

async function drain(client: FakeClient, signal = new AbortController().signal): Promise<Drained[]> {
  const clock = fakeClock();
  const options = { host: 'h1', reason: 'disks', parallel: 2, timeoutMs: 10_000 };
  const draining = drainHost({ client, clock, signal, onProgress: () => {} }, options);
  for (let n = 0; n < 20; n++) await clock.advance(1_000);
  return draining;
}

it('disables the host, moves all, and says which stay and why', async () => {
  const client = new FakeClient(instances(5), ['i3']);
  const drained = await drain(client);
  expect(client.enabled).toBe(false);
  expect(drained.filter(({ stays }) => stays === undefined)).toHaveLength(4);
  expect(drained.find(({ uuid }) => uuid === 'i3')).toMatchObject({ host: 'h1', stays: 'no_valid_host: why' });
});

it('waits for what is on its way back from another host, and moves it then', async () => {
  class Returning extends FakeClient {
    #looks = 0;

    override async instance(uuid: string): Promise<InstanceView> {
      const one = await super.instance(uuid);
      if (one.state !== 'revert_resize' || ++this.#looks < 3) return one;
      this.all.set(uuid, { ...one, ...seen() });
      return super.instance(uuid);
    }
  }
  const onItsWay = {
    ...seen({ host: 'h2', state: 'revert_resize', migration: migration('h1') }),
    uuid: 'i0',
    name: '',
    requestSpec: {},
  };
  const client = new Returning(new Map([['i0', onItsWay as InstanceView]]));
  expect(await drain(client)).toMatchObject([{ uuid: 'i0', host: 'h2', stays: undefined }]);
  expect(client.moved).toEqual(['i0']);
});

it('moves what comes while it drains, because it was claimed before', async () => {
  class Late extends FakeClient {
    override async operate(uuid: string): Promise<InstanceView> {
      const late = { ...(await this.instance(uuid)), uuid: 'late' };
      if (!this.all.has('late')) this.all.set('late', late);
      return super.operate(uuid);
    }
  }
  const client = new Late(instances(1));
  expect((await drain(client)).map(({ uuid }) => uuid)).toEqual(['i0', 'late']);
});

it('begins with what is still there when it is begun again', async () => {
  const client = new FakeClient(instances(3), ['i1']);
  await drain(client);
  client.moved.length = 0;
  await drain(client);
  expect(client.moved).toEqual(['i1']);
});

it('stops at an interruption', async () => {
  const interrupted = new AbortController();
  interrupted.abort();
  const client = new FakeClient(instances(3));
  await drain(client, interrupted.signal);
  expect(client.moved).toEqual([]);
});

it('has an affinity group leave as one, and each of any other group by itself', async () => {
  const client = new FakeClient(instances(3, { group: { id: 'web', policy: 'affinity', maxPerHost: 1 } }));
  const drained = await drain(client);
  expect(client.together).toEqual(['live_migrate i0 i1 i2']);
  expect(drained.map(({ host, stays }) => [host, stays])).toEqual(drained.map(() => ['h2', undefined]));
  expect(drained).toHaveLength(3);
  const apart = new FakeClient(instances(2, { group: { id: 'web', policy: 'anti-affinity', maxPerHost: 1 } }));
  await drain(apart);
  expect(apart.together).toEqual([]);
});

it('tries each by itself where no host takes all of a group, which says why', async () => {
  const client = new FakeClient(instances(2, { group: { id: 'web', policy: 'affinity', maxPerHost: 1 } }), [
    'i0',
    'i1',
  ]);
  client.togetherBy = 'none';
  const drained = await drain(client);
  expect(client.together).toEqual(['live_migrate i0 i1']);
  expect(drained.map(({ stays }) => stays)).toEqual(['no_valid_host: why', 'no_valid_host: why']);
});

const gang = (client: FakeClient) => {
  for (const [uuid, one] of client.all) client.all.set(uuid, { ...one, requestId: 'r', minCount: 2, gangSize: 3 });
  return client;
};

it('keeps a gang whole whose moves can not be asked for as one, and says why', async () => {
  const kept = gang(new FakeClient(instances(3)));
  kept.throws.push(fault('instance_state'), fault('instance_state'));
  const stays = 'members of its gang leave a host together: instance_state: why';
  expect((await drain(kept)).map((one) => one.stays)).toEqual([stays, stays, stays]);
  expect(kept.together).toEqual(['live_migrate i0 i1 i2', 'migrate i0 i1 i2']);
  expect(kept.moved).toEqual([]);
});

it('moves a gang cold that can not go live, and waits for its budget and for a member that is changed', async () => {
  const client = gang(new FakeClient(instances(3)));
  client.togetherBy = 'migrate';
  client.throws.push(fault('instance_state'), fault('disruption_budget'), fault('instance_changed'));
  const drained = await drain(client);
  expect(drained.map(({ host, stays }) => [host, stays])).toEqual(drained.map(() => ['h2', undefined]));
  expect(client.together.map((call) => call.split(' ')[0])).toEqual(['live_migrate', 'migrate', 'migrate', 'migrate']);
});

it('has the members of a gang leave together, or keeps all of them and says why', async () => {
  const client = gang(new FakeClient(instances(3)));
  const drained = await drain(client);
  expect(client.together).toEqual(['live_migrate i0 i1 i2']);
  expect(drained.map(({ host, stays }) => [host, stays])).toEqual(drained.map(() => ['h2', undefined]));
  const kept = gang(new FakeClient(instances(3)));
  kept.togetherBy = 'none';
  const stays = 'members of its gang leave a host together: no host for all of them';
  expect((await drain(kept)).map((one) => one.stays)).toEqual([stays, stays, stays]);
  expect(kept.moved).toEqual([]);
});
