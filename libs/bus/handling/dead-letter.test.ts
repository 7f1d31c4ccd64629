import { SERVICE } from '../../contracts/identity';
import { droppedBodyHeaders, keptBody } from './dead-letter';

const tenant = { kind: 'project', projectId: 'a' } as const;
const large = new Uint8Array(2_000_000);
const small = new Uint8Array(1_000);

it.each([
  ['a large one of a tenant', { identity: tenant, body: large }, 0, { 'berth-dropped-bytes': '2000000' }],
  ['a small one of a tenant', { identity: tenant, body: small }, 1_000, {}],
  ['a large one of a service', { identity: SERVICE, body: large }, 2_000_000, {}],
])('keeps the body of a dead letter, but for a large one of no service: %s', (_, buried, bytes, headers) => {
  expect(keptBody(buried)).toHaveLength(bytes);
  expect(droppedBodyHeaders(buried)).toEqual(headers);
});
