import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { buildAcceptedCodec, buildRefusedCodec, buildRequestCodec } from '#libs/contracts/conductor';
import {
  type CreateFlavorRequest,
  createFlavorMethod,
  deleteFlavorMethod,
  flavorEventCodec,
  listFlavorsMethod,
  type UpdateFlavorRequest,
  updateFlavorMethod,
} from '#libs/contracts/flavors';
import { type Identity, SERVICE } from '#libs/contracts/identity';
import { BUILD_REQUESTS, RPC_CONDUCTOR } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BerthError } from '#libs/domain/errors';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { Running } from '#libs/runtime/service';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { ConductorWorld } from '../testing/conductor-world';

let world: ConductorWorld;
let conductor: Running;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 10, h2: 10 });
  conductor = await world.conductor();
});

afterEach(async () => {
  await world.closed(conductor);
});

const TENANT: Identity = { kind: 'project', projectId: 'project-1' };
const SMALL: CreateFlavorRequest = {
  name: 'm1.small',
  description: '',
  resources: { VCPU: 1 },
  extraSpecs: { rack: 'r1' },
};
const UNCHANGED: Omit<UpdateFlavorRequest, 'name'> = {
  version: 0,
  description: undefined,
  setExtraSpecs: {},
  unsetExtraSpecs: [],
};

/** Requests about flavors. */
function asked(by: Identity = SERVICE) {
  const bus = world.openBus(by);
  const options = { timeoutMs: 1_000 };
  return {
    create: async (fields: Partial<CreateFlavorRequest> = {}) =>
      (await callMethod({ bus, queue: RPC_CONDUCTOR }, createFlavorMethod, { ...SMALL, ...fields }, options)).flavor,
    update: async (fields: Partial<UpdateFlavorRequest>, name = SMALL.name) =>
      (await callMethod({ bus, queue: RPC_CONDUCTOR }, updateFlavorMethod, { ...UNCHANGED, name, ...fields }, options))
        .flavor,
    remove: async (name = SMALL.name) =>
      (await callMethod({ bus, queue: RPC_CONDUCTOR }, deleteFlavorMethod, { name }, options)).flavor,
    list: async (name = '') =>
      (await callMethod({ bus, queue: RPC_CONDUCTOR }, listFlavorsMethod, { name }, options)).flavors,
  };
}

async function errorOf(work: Promise<unknown>) {
  const { code, reason, details } = await work.then(
    () => new BerthError('internal', 'nothing_thrown', ''),
    (thrown: unknown) => BerthError.from(thrown),
  );
  return { code, reason, field: details['field'] };
}

/** Publishes a build request that names a flavor; what its sender is told, and its id. */
async function build(spec: Partial<RequestSpec>, requestId = world.random.uuid()) {
  const answers: unknown[] = [];
  const replyTo = `replies-${world.random.uuid()}`;
  await world.bus.declare({ name: replyTo, kind: 'transient' });
  const replies = await world.bus.consume({ name: replyTo, kind: 'transient' }, async ({ type, body }) => {
    answers.push((type === buildAcceptedCodec.type ? buildAcceptedCodec : buildRefusedCodec).decode(body));
    return { kind: 'ack' };
  });
  const request = { requestId, requestSpec: anEncodedSpec(spec), count: 1, name: 'web', instanceUuids: [] };
  await castTyped({ bus: world.bus, queue: BUILD_REQUESTS }, buildRequestCodec, request, { id: requestId, replyTo });
  await world.clock.advance(100);
  await replies.cancel();
  return { requestId, answers };
}

const FROM_SMALL = { flavor: { name: SMALL.name, version: 0 }, resources: {} };

it('operators create, change and delete flavors; each change is another version, and an event', async () => {
  const events: string[] = [];
  await world.bus.subscribe('flavor.#', (topic, { body }) => {
    events.push(`${topic} ${flavorEventCodec.decode(body).flavor.version}`);
  });
  const { create, update, remove, list } = asked();
  const first = await create();
  expect(first).toMatchObject(SMALL);
  const second = await update({ setExtraSpecs: { 'trait:CUSTOM_A': 'required' }, unsetExtraSpecs: ['rack', 'none'] });
  expect(second.extraSpecs).toEqual({ 'trait:CUSTOM_A': 'required' });
  expect(second.version).toBeGreaterThan(first.version);
  const third = await update({ description: 'for tests' });
  expect(third).toMatchObject({ description: 'for tests', extraSpecs: second.extraSpecs });
  expect(await list()).toEqual([third]);
  expect(await remove()).toEqual(third);
  expect(await list()).toEqual([]);
  await world.clock.advance(10);
  expect(events).toEqual([
    `flavor.created.m1%2Esmall ${first.version}`,
    `flavor.updated.m1%2Esmall ${second.version}`,
    `flavor.updated.m1%2Esmall ${third.version}`,
    `flavor.deleted.m1%2Esmall ${third.version}`,
  ]);
});

it('a call that comes twice changes nothing more', async () => {
  const { create, update } = asked();
  const first = await create();
  expect(await create()).toEqual(first);
  const change = { setExtraSpecs: { 'trait:CUSTOM_A': 'required' }, version: first.version };
  const second = await update(change);
  expect(await update(change)).toEqual(second);
});

it('refuses what is wrong, by a code and a field', async () => {
  const { create, update, remove, list } = asked();
  const first = await create();
  expect(await errorOf(create({ resources: { VCPU: 2 } }))).toMatchObject({ reason: 'flavor_exists' });
  expect(await errorOf(update({ version: first.version + 1, description: 'x' }))).toMatchObject({
    code: 'aborted',
    reason: 'flavor_changed',
  });
  for (const work of [remove('none'), list('none'), update({}, 'none')]) {
    expect(await errorOf(work)).toMatchObject({ code: 'not_found', reason: 'no_such_flavor' });
  }
  expect(await errorOf(create({ name: 'other', extraSpecs: { 'hw:cpu_sockets': '2' } }))).toEqual({
    code: 'invalid_argument',
    reason: 'unknown_extra_spec',
    field: 'flavor.extra_specs.hw:cpu_sockets',
  });
  expect(await errorOf(update({ setExtraSpecs: { 'hw:numa_nodes': '3' } }))).toMatchObject({
    code: 'invalid_argument',
    reason: 'bad_extra_spec',
  });
  expect(await errorOf(create({ name: 'other', resources: {} }))).toMatchObject({ reason: 'missing_field' });
  expect(await errorOf(create({ name: 'a b' }))).toMatchObject({ reason: 'malformed_name', field: 'name' });
  expect(await errorOf(create({ name: 'other', description: 'x'.repeat(9_000) }))).toMatchObject({
    reason: 'too_long',
  });
  expect(await list()).toEqual([first]);
});

it('tenants list flavors and may not change them', async () => {
  const flavor = await asked().create();
  const { create, update, remove, list } = asked(TENANT);
  expect(await list()).toEqual([flavor]);
  for (const work of [create({ name: 'mine' }), update({ description: 'mine' }), remove()]) {
    expect(await errorOf(work)).toMatchObject({ code: 'permission_denied', reason: 'services_only' });
  }
  expect(await asked().list()).toEqual([flavor]);
});

it('a build keeps its flavor as it was, whatever becomes of it, also when its request comes again', async () => {
  const { create, update, remove } = asked();
  const { version } = await create();
  const { requestId, answers } = await build({ ...FROM_SMALL, preferredTraits: ['CUSTOM_B'] });
  const { uuid, state } = await world.only();
  expect(state).toBe('active');
  await update({ unsetExtraSpecs: ['rack'] });
  await remove();
  const again = await build({ ...FROM_SMALL, preferredTraits: ['CUSTOM_B'] }, requestId);
  expect([answers, again.answers]).toEqual([[{ requestId, instanceUuids: [uuid] }], answers]);
  const spec = requestSpecCodec.decode((await world.only()).requestSpec);
  expect(spec).toMatchObject({
    flavor: { name: SMALL.name, version },
    resources: SMALL.resources,
    extraSpecs: SMALL.extraSpecs,
    preferredTraits: ['CUSTOM_B'],
  });
  expect(requestSpecCodec.decode(world.orders[0]?.requestSpec ?? new Uint8Array())).toEqual(spec);
});

it.each([
  ['a flavor that there is not', { ...FROM_SMALL, flavor: { name: 'none', version: 0 } }, 'no_such_flavor'],
  ['a flavor with resources of its own', { ...FROM_SMALL, resources: { VCPU: 2 } }, 'flavor_and_resources'],
  ['a flavor with extra specs of its own', { ...FROM_SMALL, extraSpecs: { rack: 'r2' } }, 'flavor_and_resources'],
  [
    'a version of a flavor that a client says',
    { flavor: { name: SMALL.name, version: 1 }, resources: { VCPU: 1 } },
    'flavor_version_given',
  ],
  ['an extra spec that is not understood', { extraSpecs: { 'hw:cpu_sockets': '2' } }, 'unknown_extra_spec'],
  ['nothing', { resources: {}, extraSpecs: { rack: 'r1' } }, 'missing_field'],
])('refuses a build of %s', async (_what, spec, reason) => {
  await asked().create();
  const { answers } = await build(spec);
  expect(answers).toEqual([{ requestId: expect.any(String), error: expect.objectContaining({ reason }) }]);
  expect(await world.all()).toEqual([]);
});
