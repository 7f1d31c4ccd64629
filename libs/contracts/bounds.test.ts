import { berth } from '#generated/berth';
import { anEncodedSpec, aRequestSpec } from '../testing/instances/request-spec';
import { terminateInstanceCodec } from './conductor';
import { createFlavorMethod } from './flavors';
import { MAX_NESTED_PROVIDERS, MAX_PROJECT_ID_BYTES } from './limits';
import { joinPoolMethod } from './pools';
import { instanceTopic } from './queues';
import { requestSpecCodec } from './request-spec';
import { updateResourceStatsMethod } from './stats';

const UUID = '5b0f0d6e-8a3c-4e9e-9c0a-0123456789ab';
const specOf = (projectId: string) => requestSpecCodec.decode(requestSpecCodec.encode(aRequestSpec({ projectId })));
const terminateOf = (projectId: string) =>
  terminateInstanceCodec.decode(terminateInstanceCodec.encode({ instanceUuid: UUID, projectId }));

it("accepts as a project's id what an event's routing key has room for, counted in bytes", () => {
  const longest = 'ü'.repeat(MAX_PROJECT_ID_BYTES / 2);
  expect(specOf(longest).projectId).toBe(longest);
  expect(Buffer.byteLength(instanceTopic('scheduling', longest, UUID))).toBeLessThanOrEqual(255);
  for (const door of [specOf, terminateOf]) {
    expect(() => door(`${longest}x`)).toThrow('at most 180 bytes');
  }
});

it('refuses a text that is not Unicode: a client wrote half a surrogate pair as bytes', () => {
  const bytes = Buffer.from(anEncodedSpec({ projectId: 'project-XYZ' }));
  const at = bytes.indexOf('XYZ');
  bytes.set([0xed, 0xa0, 0x80], at);
  const decoded = () => requestSpecCodec.decode(bytes).projectId;
  expect(decoded).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
});

it('refuses a report of more nested providers than a host may have', () => {
  const nested = Array.from({ length: MAX_NESTED_PROVIDERS + 1 }, (_, n) => ({ name: `p${n}` }));
  const bodyOf = (nestedProviders: typeof nested) => {
    return berth.scheduler.v1.UpdateResourceStatsRequest.encode({ host: 'h', nestedProviders }).finish();
  };
  const { request } = updateResourceStatsMethod;
  expect(request.decode(bodyOf(nested.slice(1))).nestedProviders).toHaveLength(MAX_NESTED_PROVIDERS);
  expect(() => request.decode(bodyOf(nested))).toThrow(
    expect.objectContaining({ reason: 'too_many', details: { field: 'nested_providers' } }),
  );
});

it("counts a project's id as it stands in a routing key, where a dot takes three bytes", () => {
  const longest = '.'.repeat(MAX_PROJECT_ID_BYTES / 3);
  expect(specOf(longest).projectId).toBe(longest);
  expect(Buffer.byteLength(instanceTopic('shelved_offloaded', longest, UUID))).toBeLessThanOrEqual(255);
  const refused = expect.objectContaining({ code: 'invalid_argument', reason: 'too_long' });
  for (const door of [specOf, terminateOf]) {
    for (const projectId of [`${longest}.`, '%'.repeat(61), `${'a'.repeat(178)}.`]) {
      expect(() => door(projectId)).toThrow(refused);
    }
  }
  expect(() => terminateOf('.'.repeat(72))).toThrow(expect.objectContaining({ details: { field: 'project_id' } }));
});

it('refuses a flavor whose events could not be published', () => {
  const flavor = { name: `a${'.'.repeat(90)}`, description: '', resources: {}, extraSpecs: {} };
  const { request } = createFlavorMethod;
  expect(() => request.decode(request.encode(flavor))).toThrow(
    expect.objectContaining({ reason: 'too_long', details: { field: 'name' } }),
  );
});

it('refuses a service host whose order queue could not be named', () => {
  const { request } = joinPoolMethod;
  const bodyOf = (serviceHost: string) => {
    return berth.scheduler.v1.JoinPoolRequest.encode({
      serviceHost,
      agentRun: 'run',
      pool: 'metal',
      weight: 1,
      leaseMs: 1_000,
    }).finish();
  };
  expect(request.decode(bodyOf('h'.repeat(100))).serviceHost).toHaveLength(100);
  expect(() => request.decode(bodyOf('h'.repeat(101)))).toThrow(
    expect.objectContaining({ reason: 'too_long', details: { field: 'service_host' } }),
  );
});
