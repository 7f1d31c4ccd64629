import { randomUUID } from 'node:crypto';
import type { Instance, InstanceRow } from '../../domain/instance';
import { type Migration, migrationUuidOf } from '../../domain/moves/migration';
import { NO_ADMISSION } from '../../domain/queueing/admission';
import type { InstanceStore } from '../../instances/store';
import { anInstance, nextVersion } from './instance';

/** The contract suite of InstanceStore. `open` gives an empty store for each test. */
export function describeInstanceStore(name: string, open: () => Promise<InstanceStore>): void {
  describe(`${name} instance store`, () => {
    let store: InstanceStore;

    beforeEach(async () => {
      store = await open();
    });

    afterEach(() => store.close());

    const createOne = async (fields: Partial<InstanceRow> = {}): Promise<Instance> => {
      const instance = anInstance(fields);
      await store.create(instance.requestId, [instance]);
      return instance;
    };

    describe('who waits', () => {
      const pending = (fields: Partial<InstanceRow> = {}) => createOne({ state: 'pending', dueAtMs: 1_000, ...fields });

      it('counts and names those who are pending, from the first write to the last', async () => {
        expect(await store.countPending()).toBe(0);
        const [one, other, third] = [await pending(), await pending(), await createOne({ dueAtMs: 5 })];
        const uuids = [one.uuid, other.uuid].sort();
        expect([await store.countPending(), await store.pendingUuids(10)]).toEqual([2, uuids]);
        expect(await store.pendingUuids(1)).toEqual(uuids.slice(0, 1));
        await store.update(nextVersion(one, { state: 'building', host: 'h1' }));
        await store.update(nextVersion(third, { state: 'pending' }));
        expect(await store.pendingUuids(10)).toEqual([other.uuid, third.uuid].sort());
        await store.update(nextVersion(other, { state: 'error', dueAtMs: undefined }));
        expect([await store.countPending(), await store.pendingUuids(10)]).toEqual([1, [third.uuid]]);
      });

      it('counts those of a project, whatever it is called', async () => {
        const projectId = 'a b:c\u0001{}é';
        const [one, other] = [await pending({ projectId }), await createOne({ projectId, dueAtMs: 5 })];
        await pending();
        await pending({ projectId: 'a b:c' });
        expect(await store.countPending(projectId)).toBe(1);
        await store.update(nextVersion(other, { state: 'pending' }));
        expect([await store.countPending(projectId), await store.countPending()]).toEqual([2, 4]);
        const built = nextVersion(one, { state: 'building', host: 'h1' });
        await store.update(built);
        expect(await store.countPending(projectId)).toBe(1);
        await store.update(nextVersion(built, { state: 'pending', host: undefined }));
        expect(await store.countPending(projectId)).toBe(2);
        expect(await store.countPending('nobody')).toBe(0);
      });

      it('counts the instances in each state, at rest or in transit', async () => {
        expect(await store.countStates()).toEqual(new Map());
        const building = await createOne({ state: 'building', host: 'h1', dueAtMs: 5 });
        await pending();
        await createOne({ state: 'active', host: 'h1' });
        await createOne({ state: 'active', host: 'h1', dueAtMs: 9 });
        const stopped = await createOne({ state: 'stopped', host: 'h1' });
        await createOne({ state: 'error' });
        await createOne({ state: 'error', dueAtMs: 7 });
        const expected = { building: 1, pending: 1, active: 2, stopped: 1, error: 2 };
        expect(await store.countStates()).toEqual(new Map(Object.entries(expected)));
        await store.update(nextVersion(building, { state: 'active', dueAtMs: undefined }));
        await store.update(nextVersion(stopped, { state: 'deleting', dueAtMs: 8 }));
        const later = { pending: 1, active: 3, error: 2, deleting: 1 };
        expect(await store.countStates()).toEqual(new Map(Object.entries(later)));
      });

      it('lists them by their state as any others, each once', async () => {
        const all = [await pending(), await pending()].sort((a, b) => (a.uuid < b.uuid ? -1 : 1));
        expect(await store.list({ state: 'pending' }, undefined, 10)).toEqual(all);
      });

      it('reads what is due next without taking it', async () => {
        const [later, sooner] = [await createOne({ dueAtMs: 30 }), await createOne({ dueAtMs: 20 })];
        await createOne({ dueAtMs: 10 });
        await createOne();
        expect(await store.nextDue(10, 10)).toEqual([sooner, later]);
        expect(await store.nextDue(10, 1)).toEqual([sooner]);
        expect(await store.takeDue(30, 1, 10)).toHaveLength(3);
      });
    });

    describe('create and get', () => {
      it('gives back every field as it was', async () => {
        const bare = await createOne();
        const full = await createOne({
          name: 'Ünïcode "quoted"\nline',
          projectId: 'a b:c\u0001{}',
          userId: '',
          state: 'building',
          host: 'host-1.rack_2',
          claimToken: 4_503_599_627_370_497,
          attempts: [
            { host: 'h0', number: 1, outcome: 'failed', reason: 'no luck', startedAtMs: 5, endedAtMs: 7 },
            { host: 'h1', number: 2, outcome: 'building', reason: '', startedAtMs: 8, endedAtMs: undefined },
          ],
          fault: { reason: 'driver_failed', message: 'it said: "no"\n' },
          requestSpec: Uint8Array.from({ length: 256 }, (_, n) => n),
          alternates: Uint8Array.of(10, 0, 10, 255),
          gang: { minCount: 2, count: 3 },
          dueAtMs: 1_700_000_060_000,
          admission: { ...NO_ADMISSION, priority: -3, waitForCapacityMs: 600_000, isRequeued: true },
          waiting: {
            sinceMs: 1,
            untilMs: 2,
            waitsFor: ['capacity_vcpu'],
            preemption: { host: 'h1', victims: [randomUUID()] },
          },
          endsAtMs: 1_700_000_090_000,
        });
        expect(await store.get([full.uuid, bare.uuid])).toEqual([full, bare]);
      });

      it('leaves out what is not there', async () => {
        const instance = await createOne();
        expect(await store.get([randomUUID(), instance.uuid])).toEqual([instance]);
        expect(await store.get([])).toEqual([]);
      });

      it('stores a request once and answers a second time with what is stored, in order', async () => {
        const requestId = randomUUID();
        const first = Array.from({ length: 3 }, () => anInstance({ requestId }));
        expect(await store.create(requestId, first)).toEqual({ created: true, instances: first });
        const again = await store.create(requestId, [anInstance({ requestId })]);
        expect(again).toEqual({ created: false, instances: first });
      });

      it('answers a repeated request with the instances as they are now', async () => {
        const instance = await createOne();
        const building = nextVersion(instance, { state: 'building', host: 'h1' });
        await store.update(building);
        const again = await store.create(instance.requestId, [instance]);
        expect(again).toEqual({ created: false, instances: [building] });
      });

      it('stores one of many equal requests that come at once', async () => {
        const requestId = randomUUID();
        const answers = await Promise.all(
          Array.from({ length: 10 }, () => store.create(requestId, [anInstance({ requestId })])),
        );
        expect(answers.filter((answer) => answer.created)).toHaveLength(1);
        expect(new Set(answers.map((answer) => answer.instances[0]?.uuid)).size).toBe(1);
      });

      it('refuses a uuid that another request has, and stores nothing', async () => {
        const mine = await createOne();
        const requestId = randomUUID();
        const other = anInstance({ requestId });
        const creating = store.create(requestId, [other, { ...mine, requestId }]);
        await expect(creating).rejects.toMatchObject({ code: 'already_exists', reason: 'instance_exists' });
        expect(await store.get([other.uuid, mine.uuid])).toEqual([mine]);
        expect((await store.create(requestId, [other])).created).toBe(true);
      });

      it('gives each instance of a request its spec, however large, and to one that is resized its own', async () => {
        const requestId = randomUUID();
        const requestSpec = Uint8Array.from({ length: 5_000 }, (_, n) => n % 251);
        const [one, other, third] = Array.from({ length: 3 }, () => anInstance({ requestId, requestSpec, dueAtMs: 5 }));
        if (!one || !other || !third) throw new Error('three were made');
        await store.create(requestId, [one, other, third]);
        const resized = nextVersion(one, { requestSpec: Uint8Array.from({ length: 4_000 }, (_, n) => n % 13) });
        await store.update(resized);
        const [read] = await store.get([other.uuid]);
        const built = nextVersion(read ?? other, { state: 'building', host: 'h1' });
        await store.update(built);
        const all = [resized, built, third];
        expect(await store.get(all.map(({ uuid }) => uuid))).toEqual(all);
        expect((await store.create(requestId, all)).instances).toEqual(all);
        expect((await store.update(third)).instance).toEqual(third);
        const byUuid = [...all].sort((a, b) => (a.uuid < b.uuid ? -1 : 1));
        expect(await store.list({ requestId }, undefined, 10)).toEqual(byUuid);
        const due = await store.takeDue(5, 1, 10);
        expect(due.map(({ requestSpec: spec }) => `${spec.length}`).sort()).toEqual(['4000', '5000', '5000']);
      });

      it('gives the instances of several kinds their specs, those that several share and those that one has', async () => {
        const requestId = randomUUID();
        const specOf = (length: number) => Uint8Array.from({ length }, (_, n) => n % 251);
        const [leaders, workers] = [specOf(5_000), specOf(3_000)];
        const specs = [leaders, leaders, workers, workers, specOf(2_000), specOf(100)];
        const all = specs.map((requestSpec) => anInstance({ requestId, requestSpec }));
        await store.create(requestId, all);
        expect(await store.get(all.map(({ uuid }) => uuid))).toEqual(all);
        const [, , worker] = await store.get(all.map(({ uuid }) => uuid));
        const built = nextVersion(worker as Instance, { state: 'building', host: 'h1' });
        await store.update(built);
        expect(await store.get([built.uuid])).toEqual([built]);
      });

      it('has of a project so many as it may have on record, ended ones too, and as many as run', async () => {
        const projectId = `p-${randomUUID()}`;
        const requestOf = (count: number, state: Instance['state'] = 'scheduling') => {
          const requestId = randomUUID();
          return Array.from({ length: count }, () => anInstance({ requestId, projectId, state }));
        };
        const create = (instances: readonly Instance[]) =>
          store.create(instances[0]?.requestId ?? '', instances, { maxOfProject: 3 });
        const ended = requestOf(2, 'deleted');
        await create(ended);
        const tooMany = { code: 'resource_exhausted', reason: 'too_many_records' };
        await expect(create(requestOf(2))).rejects.toMatchObject(tooMany);
        expect((await create(requestOf(1))).created).toBe(true);
        await expect(create(requestOf(1))).rejects.toMatchObject(tooMany);
        expect((await create(ended)).created).toBe(false);
        const other = [anInstance({ projectId: `${projectId}0` })];
        expect((await create(other)).created).toBe(true);
        const running = requestOf(2, 'active');
        expect((await store.create(running[0]?.requestId ?? '', running)).created).toBe(true);
      });

      it('stores a thousand instances of one request', async () => {
        const requestId = randomUUID();
        const many = Array.from({ length: 1000 }, () => anInstance({ requestId }));
        await store.create(requestId, many);
        expect((await store.create(requestId, many)).instances).toEqual(many);
      });
    });

    describe('update', () => {
      it('writes the next version', async () => {
        const instance = await createOne();
        const next = nextVersion(instance, { state: 'building', host: 'h1', claimToken: 7 });
        expect(await store.update(next)).toMatchObject({ updated: true, instance: next });
        expect(await store.get([instance.uuid])).toEqual([next]);
      });

      it('refuses any other version and answers with what is stored', async () => {
        const instance = await createOne();
        const next = nextVersion(instance, { state: 'building' });
        await store.update(next);
        const late = nextVersion(instance, { state: 'error' });
        expect(await store.update(late)).toMatchObject({ updated: false, instance: next });
        expect(await store.update({ ...next, version: 4 })).toMatchObject({ updated: false, instance: next });
      });

      it('refuses what was made from a version that was lost, though the stored one has its number', async () => {
        const instance = await createOne();
        const lost = nextVersion(instance, { state: 'error', updatedAtMs: instance.updatedAtMs + 1 });
        const stored = nextVersion(instance, { state: 'building', updatedAtMs: instance.updatedAtMs + 2 });
        await store.update(stored, { storedAtMs: instance.updatedAtMs });
        const next = nextVersion(lost, { state: 'deleting' });
        const refused = await store.update(next, { storedAtMs: lost.updatedAtMs });
        expect(refused).toMatchObject({ updated: false, instance: stored });
        const made = nextVersion(stored, { state: 'deleting' });
        expect(await store.update(made, { storedAtMs: stored.updatedAtMs })).toMatchObject({ updated: true });
      });

      it('answers with nothing for an instance that is not there', async () => {
        const unknown = anInstance({ version: 2 });
        expect(await store.update(unknown)).toMatchObject({ updated: false, instance: undefined });
        expect(await store.get([unknown.uuid])).toEqual([]);
      });

      it('lets one of many writers of the same version win', async () => {
        const instance = await createOne();
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, n) => store.update(nextVersion(instance, { host: `h${n}` }))),
        );
        const winner = answers.find((answer) => answer.updated);
        expect(answers.filter((answer) => answer.updated)).toHaveLength(1);
        expect(await store.get([instance.uuid])).toEqual([winner?.instance]);
      });
    });

    describe('writes and reads of one turn', () => {
      it('makes or refuses each by itself, whatever becomes of the others', async () => {
        const [mine, moving] = [await createOne(), await createOne()];
        const news = Array.from({ length: 300 }, () => anInstance());
        const next = nextVersion(moving, { state: 'building', host: 'h1', dueAtMs: 5 });
        const late = nextVersion(moving, { state: 'error' });
        const unknown = anInstance({ version: 2 });
        const requestId = randomUUID();
        const creating = news.map((one) => store.create(one.requestId, [one]));
        const refusing = store.create(requestId, [anInstance({ requestId }), { ...mine, requestId }]);
        const updating = [next, late, unknown].map((one) => store.update(one));
        const last = anInstance();
        const creatingLast = store.create(last.requestId, [last]);
        await expect(refusing).rejects.toMatchObject({
          reason: 'instance_exists',
          details: { instanceUuid: mine.uuid },
        });
        expect(await Promise.all(creating)).toEqual(news.map((one) => ({ created: true, instances: [one] })));
        expect(await Promise.all(updating)).toMatchObject([
          { updated: true, instance: next },
          { updated: false, instance: next },
          { updated: false, instance: undefined },
        ]);
        expect(await creatingLast).toEqual({ created: true, instances: [last] });
        const all = [mine, next, ...news, last];
        expect(await store.get(all.map(({ uuid }) => uuid))).toEqual(all);
        expect(await store.list({}, undefined, 1_000)).toHaveLength(all.length);
      });

      it('keeps the move that an instance is on, in each of its states', async () => {
        const active = anInstance({ state: 'active', host: 'h1', claimToken: 3 });
        const end = { host: 'h1', attempt: 1, allocationRequest: 'AA==', requestSpec: 'AQ==' };
        const migration: Migration = {
          uuid: migrationUuidOf(active.uuid),
          kind: 'resize',
          phase: 'selecting',
          source: { ...end, claimToken: 3, activeAt: { epoch: 1, position: 2 } },
          destination: { ...end, host: 'h2', attempt: 2 },
          targetHost: '',
          claimToken: 4,
          handover: '',
          confirmAfterMs: 0,
          confirmAtMs: undefined,
        };
        const resize = nextVersion(active, { state: 'resize', migration, dueAtMs: 1 });
        const arrived = nextVersion(resize, { state: 'verify_resize', host: 'h2', dueAtMs: undefined });
        const reverting = nextVersion(arrived, { state: 'revert_resize', dueAtMs: 3 });
        const back = nextVersion(reverting, { state: 'active', host: 'h1', migration: undefined, dueAtMs: undefined });
        await store.create(active.requestId, [active]);
        for (const next of [resize, arrived, reverting, back]) {
          expect(await store.update(next)).toMatchObject({ updated: true });
          expect(await store.get([active.uuid])).toEqual([next]);
          const isListed = next.state === 'verify_resize';
          expect(await store.list({ state: 'verify_resize' }, undefined, 10)).toEqual(isListed ? [next] : []);
        }
      });

      it('takes one instance through all its states, in order', async () => {
        const scheduling = anInstance({ dueAtMs: 1 });
        const building = nextVersion(scheduling, { state: 'building', host: 'h1', dueAtMs: 2 });
        const elsewhere = nextVersion(building, { host: 'h2', dueAtMs: 3 });
        const resting = nextVersion(elsewhere, { state: 'error', dueAtMs: undefined });
        const deleting = nextVersion(resting, { state: 'deleting', dueAtMs: 4 });
        const deleted = nextVersion(deleting, { state: 'deleted', dueAtMs: undefined });
        const creating = store.create(scheduling.requestId, [scheduling]);
        const updating = [building, elsewhere, resting, deleting, deleted].map((one) => store.update(one));
        const again = store.create(scheduling.requestId, [scheduling]);
        expect((await creating).created).toBe(true);
        expect((await Promise.all(updating)).every(({ updated }) => updated)).toBe(true);
        expect(await again).toEqual({ created: false, instances: [deleted] });
        for (const filter of [
          { host: 'h1' },
          { state: 'error' },
          { state: 'active' },
          { state: 'building' },
        ] as const) {
          expect(await store.list(filter, undefined, 10)).toEqual([]);
        }
        for (const filter of [{}, { host: 'h2' }, { state: 'deleted' }, { projectId: 'project-1' }] as const) {
          expect(await store.list(filter, undefined, 10)).toEqual([deleted]);
        }
        expect(await store.takeDue(10, 100, 10)).toEqual([]);
        await store.markPublished(deleted.uuid, deleted.version);
        expect(await store.forget(deleted.updatedAtMs + 1, 10)).toBe(1);
        expect(await store.list({}, undefined, 10)).toEqual([]);
      });

      it('stores a request that comes twice once, and answers both', async () => {
        const requestId = randomUUID();
        const [first, second] = [anInstance({ requestId }), anInstance({ requestId })];
        const [one, two] = await Promise.all([store.create(requestId, [first]), store.create(requestId, [second])]);
        expect(one).toEqual({ created: true, instances: [first] });
        expect(two).toEqual({ created: false, instances: [first] });
        expect(await store.get([second.uuid])).toEqual([]);
      });

      it('gives a uuid to the first of two requests', async () => {
        const first = anInstance();
        const second = { ...first, requestId: randomUUID() };
        const creating = [first, second].map((one) => store.create(one.requestId, [one]));
        await expect(creating[1]).rejects.toMatchObject({ reason: 'instance_exists' });
        expect(await creating[0]).toEqual({ created: true, instances: [first] });
        expect(await store.get([first.uuid])).toEqual([first]);
      });

      it('answers each read with what it asked for', async () => {
        const requestId = randomUUID();
        const many = Array.from({ length: 700 }, () => anInstance({ requestId }));
        await store.create(requestId, many);
        const asked = [
          [...many],
          [],
          [many[3], anInstance(), many[1]],
          [many[3]],
          [anInstance()],
          ...many.map((one) => [one]),
        ];
        const answers = await Promise.all(asked.map((some) => store.get(some.map((one) => one?.uuid ?? ''))));
        expect(answers).toEqual(asked.map((some) => some.filter((one) => one && many.includes(one))));
      });

      it('ends what was begun before it closes', async () => {
        const instance = await createOne();
        const reading = store.get([instance.uuid]);
        const updating = store.update(nextVersion(instance, { state: 'error' }));
        await store.close();
        expect((await updating).updated).toBe(true);
        expect(await reading).toHaveLength(1);
      });
    });

    describe('list', () => {
      const requestId = randomUUID();
      const uuids = Array.from({ length: 9 }, () => randomUUID()).sort();
      const rows = uuids.map((uuid, n) =>
        anInstance({
          uuid,
          requestId: n < 3 ? requestId : randomUUID(),
          projectId: n % 2 === 0 ? 'even' : 'odd',
          host: n < 6 ? `host-${n % 3}` : undefined,
          state: n < 6 ? 'active' : 'scheduling',
        }),
      );
      const pick = (...at: number[]) => at.map((n) => rows[n]);

      beforeEach(async () => {
        const [first, second, third, ...others] = rows.toReversed();
        for (const one of [third, first, second]) if (one) await store.create(one.requestId, [one]);
        await store.create(
          requestId,
          others.filter((one) => one.requestId === requestId),
        );
        for (const one of others) if (one.requestId !== requestId) await store.create(one.requestId, [one]);
      });

      it('goes by uuid, whatever the order of creation', async () => {
        expect(await store.list({}, undefined, 100)).toEqual(rows);
      });

      it('pages after a marker, which need not exist', async () => {
        expect(await store.list({}, undefined, 4)).toEqual(pick(0, 1, 2, 3));
        expect(await store.list({}, uuids[3], 4)).toEqual(pick(4, 5, 6, 7));
        expect(await store.list({}, uuids[7], 4)).toEqual(pick(8));
        expect(await store.list({}, uuids[8], 4)).toEqual([]);
        expect(await store.list({}, `${uuids[3]}0`, 2)).toEqual(pick(4, 5));
      });

      it('filters by request, project, state and host, and by all of them', async () => {
        expect(await store.list({ requestId }, undefined, 100)).toEqual(pick(0, 1, 2));
        expect(await store.list({ projectId: 'odd' }, undefined, 100)).toEqual(pick(1, 3, 5, 7));
        expect(await store.list({ state: 'scheduling' }, undefined, 100)).toEqual(pick(6, 7, 8));
        expect(await store.list({ host: 'host-1' }, undefined, 100)).toEqual(pick(1, 4));
        const all = { requestId, projectId: 'even', state: 'active', host: 'host-2' } as const;
        expect(await store.list(all, undefined, 100)).toEqual(pick(2));
        expect(await store.list({ ...all, host: 'host-1' }, undefined, 100)).toEqual([]);
      });

      it('pages through what a filter leaves', async () => {
        expect(await store.list({ projectId: 'even' }, undefined, 2)).toEqual(pick(0, 2));
        expect(await store.list({ projectId: 'even' }, uuids[2], 2)).toEqual(pick(4, 6));
        expect(await store.list({ requestId }, uuids[0], 1)).toEqual(pick(1));
      });

      it('follows an instance from state to state and host to host', async () => {
        const [row] = rows;
        if (!row) throw new Error('no rows');
        await store.update(nextVersion(row, { state: 'error', host: 'elsewhere' }));
        expect(await store.list({ state: 'active', host: 'host-0' }, undefined, 100)).toEqual(pick(3));
        expect(await store.list({ host: 'host-0' }, undefined, 100)).toEqual(pick(3));
        expect(await store.list({ state: 'error' }, undefined, 100)).toHaveLength(1);
        expect(await store.list({ host: 'elsewhere' }, undefined, 100)).toHaveLength(1);
      });

      it('finds nothing for names that are nowhere', async () => {
        expect(await store.list({ requestId: randomUUID() }, undefined, 10)).toEqual([]);
        expect(await store.list({ host: 'host' }, undefined, 10)).toEqual([]);
        expect(await store.list({ projectId: 'eve' }, undefined, 10)).toEqual([]);
      });
    });

    describe('hosts', () => {
      it('names each host that instances are on once, in order, until the last has left', async () => {
        expect(await store.hosts('', 10)).toEqual([]);
        const on = (host: string | undefined) => createOne({ host, state: host ? 'building' : 'scheduling' });
        const [one, other] = [await on('h10'), await on('h10')];
        for (const host of ['h1', 'h1.rack_2', 'h-1', undefined, 'H2']) await on(host);
        const all = ['H2', 'h-1', 'h1', 'h1.rack_2', 'h10'];
        expect(await store.hosts('', 10)).toEqual(all);
        expect([await store.hosts('', 2), await store.hosts('h-1', 2)]).toEqual([all.slice(0, 2), all.slice(2, 4)]);
        expect([await store.hosts('h1.rack', 1), await store.hosts('h10', 9)]).toEqual([['h1.rack_2'], []]);
        const moved = nextVersion(one, { host: 'h3', updatedAtMs: 1 });
        await store.update(moved);
        expect(await store.hosts('h1.rack_2', 10)).toEqual(['h10', 'h3']);
        await store.update(nextVersion(other, { host: undefined }));
        const ended = nextVersion(moved, { state: 'deleted', updatedAtMs: 1 });
        await store.update(ended);
        expect(await store.hosts('h1.rack_2', 10)).toEqual(['h3']);
        await store.markPublished(ended.uuid, ended.version);
        await store.forget(2, 10);
        expect(await store.hosts('h1.rack_2', 10)).toEqual([]);
      });

      it('names more hosts than one reading of the store', async () => {
        const hosts = Array.from({ length: 1_001 }, (_, n) => `h${n}`).sort();
        const requestId = randomUUID();
        await store.create(
          requestId,
          hosts.map((host) => anInstance({ requestId, host })),
        );
        expect(await store.hosts('', 2_000)).toEqual(hosts);
        expect(await store.hosts('h0', 1_000)).toEqual(hosts.slice(1));
      });
    });

    describe('takeDue', () => {
      it('gives what is due, longest due first, and gives it to one caller only', async () => {
        const early = await createOne({ dueAtMs: 1_000 });
        const late = await createOne({ dueAtMs: 3_000 });
        const middle = await createOne({ dueAtMs: 2_000 });
        await createOne();
        expect(await store.takeDue(999, 100, 10)).toEqual([]);
        expect(await store.takeDue(2_500, 100, 10)).toEqual([early, middle]);
        expect(await store.takeDue(2_500, 100, 10)).toEqual([]);
        // Both were postponed to the same time.
        const again = await store.takeDue(3_000, 10_000, 10);
        const byUuid = [early, middle].sort((a, b) => (a.uuid < b.uuid ? -1 : 1));
        expect(again).toEqual([...byUuid, late]);
      });

      it('takes at most as many as asked', async () => {
        for (const dueAtMs of [1, 2, 3]) await createOne({ dueAtMs });
        expect(await store.takeDue(10, 100, 2)).toHaveLength(2);
        expect(await store.takeDue(10, 100, 2)).toHaveLength(1);
      });

      it('forgets the due time when the instance comes to rest, and moves it when told', async () => {
        const resting = await createOne({ dueAtMs: 1_000 });
        const moving = await createOne({ dueAtMs: 1_000 });
        await store.update(nextVersion(resting, { state: 'error', dueAtMs: undefined }));
        const moved = nextVersion(moving, { dueAtMs: 5_000 });
        await store.update(moved);
        expect(await store.takeDue(4_999, 100, 10)).toEqual([]);
        expect(await store.takeDue(5_000, 100, 10)).toEqual([moved]);
      });
    });

    describe('scan', () => {
      it('shows every instance once', async () => {
        const requestId = randomUUID();
        const many = Array.from({ length: 1_500 }, () => anInstance({ requestId }));
        await store.create(requestId, many);
        const seen: string[] = [];
        await store.scan(async (rows) => {
          seen.push(...rows.map((row) => row.uuid));
        });
        expect(seen.sort()).toEqual(many.map((one) => one.uuid).sort());
      });

      it('ends when the caller throws', async () => {
        await createOne();
        const scanning = store.scan(async () => {
          throw new Error('enough');
        });
        await expect(scanning).rejects.toThrow('enough');
      });
    });

    describe('forget', () => {
      const end = async (instance: Instance, fields: Partial<InstanceRow> = {}) => {
        const gone = nextVersion(instance, { state: 'deleted', updatedAtMs: 1, ...fields });
        await store.update(gone);
        await store.markPublished(gone.uuid, gone.version);
        return gone;
      };
      const deleted = async (updatedAtMs: number, fields: Partial<InstanceRow> = {}) =>
        end(await createOne(fields), { host: 'h1', updatedAtMs });

      it('forgets deleted instances that were last written before a time', async () => {
        const old = await deleted(1_000, { dueAtMs: 1 });
        const recent = await deleted(2_000);
        const living = await createOne({ updatedAtMs: 1 });
        expect(await store.forget(2_000, 10)).toBe(1);
        expect(await store.get([old.uuid, recent.uuid, living.uuid])).toEqual([recent, living]);
        expect(await store.list({ host: 'h1' }, undefined, 10)).toEqual([recent]);
        expect(await store.list({}, undefined, 10)).toHaveLength(2);
        expect(await store.forget(2_000, 10)).toBe(0);
      });

      it('forgets what ended in error, unless something of it is due or it was taken up again', async () => {
        const inError = async (fields: Partial<InstanceRow>) => {
          const failed = nextVersion(await createOne(), { state: 'error', updatedAtMs: 1_000, ...fields });
          await store.update(failed);
          await store.markPublished(failed.uuid, failed.version);
          return failed;
        };
        const [old, due, again] = [await inError({}), await inError({ dueAtMs: 5 }), await inError({})];
        const deleting = nextVersion(again, { state: 'deleting', dueAtMs: 9, updatedAtMs: 1_000 });
        await store.update(deleting);
        expect(await store.forget(2_000, 10)).toBe(1);
        expect(await store.get([old.uuid, due.uuid, again.uuid])).toEqual([due, deleting]);
        const atRest = nextVersion(due, { dueAtMs: undefined, updatedAtMs: 1_000 });
        await store.update(atRest);
        await store.markPublished(atRest.uuid, atRest.version);
        expect(await store.forget(2_000, 10)).toBe(1);
      });

      it('keeps those created up to a time, until its own time is past another', async () => {
        const old = await deleted(1_000, { createdAtMs: 100 });
        const young = await deleted(1_000, { createdAtMs: 101 });
        const kept = { createdUpToMs: 100, untilMs: 5_000 };
        await store.forget(5_000, 10, kept);
        expect(await store.get([old.uuid, young.uuid])).toEqual([old]);
        expect(await store.forget(5_000, 10, kept)).toBe(0);
        expect(await store.forget(5_001, 10, kept)).toBe(1);
        expect(await store.get([old.uuid])).toEqual([]);
      });

      it('forgets at most as many as asked', async () => {
        for (let n = 0; n < 3; n++) await deleted(1_000);
        expect(await store.forget(5_000, 2)).toBe(2);
        expect(await store.forget(5_000, 2)).toBe(1);
      });

      it('forgets a request with its last instance, so that its id may be used again', async () => {
        const requestId = randomUUID();
        const [one, two] = [anInstance({ requestId }), anInstance({ requestId })];
        await store.create(requestId, [one, two]);
        await end(one);
        await store.forget(10, 10);
        expect(await store.create(requestId, [one])).toEqual({ created: false, instances: [two] });
        await end(two);
        await store.forget(10, 10);
        expect((await store.create(requestId, [one])).created).toBe(true);
      });

      it('refuses a request that is older than what it has forgotten, and no other', async () => {
        const create = (publishedAtMs: number, createdAtMs: number, requestId: string = randomUUID()) =>
          store.create(requestId, [anInstance({ requestId, createdAtMs })], { publishedAtMs });
        const requestId = randomUUID();
        const { instances } = await create(1_000, 1_050, requestId);
        await end(instances[0] as Instance);
        expect((await create(900, 1_060)).created).toBe(true);
        await store.forget(10_000, 10);
        await expect(create(1_000, 2_000, requestId)).rejects.toMatchObject({
          code: 'failed_precondition',
          reason: 'request_expired',
        });
        await expect(create(1_050, 2_000)).rejects.toMatchObject({ reason: 'request_expired' });
        expect((await create(1_051, 2_000)).created).toBe(true);
      });

      it('still knows a request that is older than what it has forgotten', async () => {
        const requestId = randomUUID();
        const [long, short] = [anInstance({ requestId, createdAtMs: 10 }), anInstance({ createdAtMs: 20 })];
        await store.create(requestId, [long], { publishedAtMs: 10 });
        await store.create(short.requestId, [short], { publishedAtMs: 20 });
        await end(short);
        await store.forget(10_000, 10);
        expect(await store.create(requestId, [long], { publishedAtMs: 10 })).toEqual({
          created: false,
          instances: [long],
        });
      });
    });
  });
}
