import type { Client } from '#libs/client/client';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { chosen, TopWorld } from '../testing/top-world';

let world: TopWorld;
let client: Client;

beforeEach(async () => {
  world = new TopWorld();
  world.select = ({ instanceUuids }) => chosen('a', instanceUuids);
  await world.open();
  client = world.client();
});
afterEach(() => world.close());

const SMALL = {
  name: 'm1.small',
  description: '',
  resources: { VCPU: 2, MEMORY_MB: 512 },
  extraSpecs: { 'trait:CUSTOM_A': 'required' },
};
const named = { flavor: { name: SMALL.name, version: 0 }, resources: {} };

it('a request that names a flavor of the top is spelled out for its cell, which has flavors of its own', async () => {
  const { version } = await client.createFlavor(SMALL);
  expect(await client.flavors()).toMatchObject([{ name: 'm1.small' }]);
  await world.request(1, named);
  const told = [world.asked[0]?.requestSpec, world.a.requests[0]?.requestSpec];
  for (const spec of told) {
    const { resources, extraSpecs } = SMALL;
    expect(spec && requestSpecCodec.decode(spec)).toMatchObject({ flavor: undefined, resources, extraSpecs });
  }
  expect((await client.instances({}))[0]?.requestSpec).toMatchObject({ flavor: { name: 'm1.small', version } });
});

it('a request that comes again is as its flavor was', async () => {
  await client.createFlavor(SMALL);
  const ids = { requestId: world.random.uuid() };
  await world.request(1, named, ids);
  await client.deleteFlavor('m1.small');
  await world.request(1, named, ids);
  expect(await world.all()).toHaveLength(1);
});

it('a flavor that the top does not have is refused, and so is a version that a client says', async () => {
  expect(await world.refusal(named)).toMatchObject({ reason: 'no_such_flavor' });
  expect(await world.refusal({ flavor: { name: 'm1.small', version: 3 } })).toMatchObject({
    reason: 'flavor_version_given',
  });
});
