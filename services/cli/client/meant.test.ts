import type { Client } from '#libs/client/client';
import type { InstanceState } from '#libs/domain/instance';
import { meantInstance, meantInstances, meantRequest } from './meant';

const WEB = '6f1f36c4-52f9-4a3c-9f6f-0d2f0a4b7a11';
const OTHER = '6f1f36c4-99f9-4a3c-9f6f-0d2f0a4b7a11';
const DB = '00000000-0000-4000-8000-000000000001';
const LAST = 'ffffffff-ffff-4fff-8fff-ffffffffffff';
const REQUEST = 'abcdef12-52f9-4a3c-9f6f-0d2f0a4b7a11';

function instance(uuid: string, name: string, state: InstanceState = 'active') {
  return { uuid, name, state, host: 'host-1', requestId: REQUEST };
}

/** A client that has these instances, and answers by page as Berth does. */
function clientWith(...instances: ReturnType<typeof instance>[]): Client {
  const inOrder = instances.toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1));
  return {
    instances: async ({ marker = '' }, most: number) => inOrder.filter(({ uuid }) => uuid > marker).slice(0, most),
  } as unknown as Client;
}

const fleet = clientWith(instance(WEB, 'web'), instance(OTHER, 'web-2'), instance(DB, 'db'), instance(LAST, 'last'));

it.each([
  [WEB.toUpperCase(), WEB],
  ['web', WEB],
  ['6f1f36c4-5', WEB],
  ['0', DB],
  ['00000000', DB],
  ['ffffffff', LAST],
  ['last', LAST],
])('takes %s for one instance', async (text, uuid) => {
  expect(await meantInstance(fleet, text)).toBe(uuid);
});

it('lists those that a text may mean, and takes none of them', async () => {
  const ambiguous = meantInstance(fleet, '6f1f36c4');
  await expect(ambiguous).rejects.toMatchObject({ code: 'invalid_argument', reason: 'ambiguous_name' });
  await expect(ambiguous).rejects.toThrow(`'6f1f36c4' names 2 instances:\n  ${WEB}  web  ACTIVE  host-1\n  ${OTHER}`);
  const named = clientWith(instance(WEB, 'db'), instance(DB, 'db'));
  await expect(meantInstance(named, 'db')).rejects.toMatchObject({ reason: 'ambiguous_name' });
});

it('takes a name that begins a UUID, too, for neither', async () => {
  const both = clientWith(instance(WEB, 'web'), instance(DB, '6f1f'));
  await expect(meantInstance(both, '6f1f')).rejects.toMatchObject({ reason: 'ambiguous_name' });
});

it('finds what is DELETED by its UUID only', async () => {
  const gone = clientWith(instance(WEB, 'web', 'deleted'), instance(DB, 'web'));
  expect(await meantInstance(gone, 'web')).toBe(DB);
  expect(await meantInstance(gone, '6f1f36c4')).toBe(WEB);
  const begins = clientWith(instance(WEB, 'web', 'deleted'), instance(DB, '6'));
  expect(await meantInstance(begins, '6')).toBe(DB);
});

it('finds no instance, no request', async () => {
  await expect(meantInstance(fleet, 'wbe')).rejects.toMatchObject({ code: 'not_found', reason: 'no_such_instance' });
  await expect(meantInstance(fleet, '6f1f36c5')).rejects.toMatchObject({ reason: 'no_such_instance' });
  expect(await meantRequest(fleet, 'abcd')).toBe(REQUEST);
  await expect(meantRequest(fleet, 'abce')).rejects.toMatchObject({ reason: 'no_such_request' });
});

it('takes no name when it could not read all instances, one of which may have it, too', async () => {
  const many = Array.from({ length: 50_000 }, (_, n) =>
    instance(`00000000-0000-4000-8000-${String(n).padStart(12, '0')}`, `vm-${n}`),
  );
  const crowd = clientWith(...many);
  await expect(meantInstance(crowd, 'vm-7')).rejects.toMatchObject({ reason: 'malformed_uuid' });
  expect(await meantInstance(crowd, '00000000-0000-4000-8000-000000000007')).toBe(many[7]?.uuid);
});

it('reads the instances once for several names', async () => {
  let reads = 0;
  const counting = {
    instances: async (...asked: Parameters<Client['instances']>) => (reads++, fleet.instances(...asked)),
  };
  await meantInstances(counting as unknown as Client, ['web', 'db', 'last']);
  expect(reads).toBe(1);
});

it('takes an instance that is named twice once', async () => {
  expect(await meantInstances(fleet, ['web', '6f1f36c4-5', 'db'])).toEqual([WEB, DB]);
});
