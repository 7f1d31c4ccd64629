import * as fc from 'fast-check';
import { BerthError } from '../domain/errors';
import type { NodeOperation } from '../domain/nodes/node';
import type { RequestSpec } from '../domain/request-spec';
import { anEncodedSpec, aRequestSpec } from '../testing/instances/request-spec';
import { aNodeRecord } from '../testing/node-record';
import {
  addAggregateHostMethod,
  createAggregateMethod,
  listAggregatesMethod,
  listZonesMethod,
  updateAggregateMethod,
} from './aggregates';
import { checkedAllocations } from './allocations';
import type { Codec } from './codec';
import {
  type BuildInstance,
  buildInstanceCodec,
  buildReportCodec,
  destroyInstanceCodec,
  hostDiscrepancyCodec,
} from './compute';
import { type BuildRequest, buildRequestCodec, terminateInstanceCodec } from './conductor';
import { explainMethod } from './diagnosis';
import { decodeError, encodeError } from './error';
import { createFlavorMethod, flavorEventCodec, listFlavorsMethod, updateFlavorMethod } from './flavors';
import { createGroupMethod, listGroupsMethod } from './groups';
import { listHostsMethod } from './hosts';
import { instanceEventCodec, listInstancesMethod } from './instance';
import { MAX_INSTANCES_PER_REQUEST } from './limits';
import { nodeCodec } from './nodes';
import { requestSpecCodec } from './request-spec';
import { alternatesCodec, selectDestinationsMethod } from './selection';
import { updateResourceStatsMethod } from './stats';

const NO_RULES = { requiredTraits: [], forbiddenTraits: [], memberOf: [], forbiddenAggregates: [], inTree: undefined };
/** By field, specs with a name that nobody can see. */
const UNSEEN_SPECS: readonly (readonly [string, Partial<RequestSpec>])[] = [
  ['project_id', { projectId: 'shop\u0000' }],
  ['user_id', { userId: 'ann\u0007' }],
  ['availability_zone', { availabilityZone: 'z1\u0000' }],
  ['group.id', { group: { id: 'web\u009b', policy: 'affinity', maxPerHost: 1 } }],
  ['extra_specs', { extraSpecs: { 'berth:command\u0000': '[]' } }],
  ['image_properties', { imageProperties: { 'os\r': 'linux' } }],
  ['request_groups[0].suffix', { requestGroups: [{ ...NO_RULES, suffix: '_a\u0000', resources: { VCPU: 1 } }] }],
];

const UUID = '5b0f0d6e-8a3c-4e9e-9c0a-0123456789ab';
const uuid = fc.uuid({ version: 4 });
const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/);
const className = fc.stringMatching(/^CUSTOM_[A-Z]{1,10}$/);
const amounts = fc.dictionary(className, fc.integer({ min: 1, max: 2_147_483_647 }), { minKeys: 1, maxKeys: 4 });
const spread = fc.option(fc.record({ by: word, maxSkew: fc.integer({ min: 1, max: 9 }) }), { nil: undefined });
const group = fc.record({
  id: word,
  policy: fc.constantFrom('anti-affinity', 'soft-affinity', 'soft-anti-affinity'),
  maxPerHost: fc.integer({ min: 1, max: 9 }),
  spread,
});
const spec = fc
  .record({
    resources: amounts,
    requiredTraits: fc.array(className),
    preferredResources: amounts,
    availabilityZone: fc.option(word, { nil: undefined }),
    memberOf: fc.array(fc.array(uuid, { minLength: 1, maxLength: 3 }), { maxLength: 2 }),
    extraSpecs: fc.dictionary(word, word),
    sameHost: fc.array(uuid, { maxLength: 3 }),
    group: fc.option(
      fc.oneof(group, fc.record({ id: word, policy: fc.constant(undefined), maxPerHost: fc.constant(0) })),
      { nil: undefined },
    ),
    forceHosts: fc.array(word, { maxLength: 3 }),
    groupPolicy: fc.constantFrom('none' as const, 'isolate' as const),
    flavor: fc.option(fc.record({ name: word, version: fc.integer({ min: 1, max: 9 }) }), { nil: undefined }),
    rootRequiredTraits: fc.array(className),
    rootForbiddenTraits: fc.array(className),
  })
  .map((fields) => aRequestSpec(fields));
const selection = fc.record({
  host: word,
  cell: word,
  allocationRequest: fc.uint8Array({ maxLength: 99 }),
  serviceHost: word,
  epoch: fc.maxSafeNat(),
});
const alternate = fc.oneof(
  selection,
  fc
    .tuple(selection, fc.uint8Array({ minLength: 1, maxLength: 99 }))
    .map(([one, requiredAllocationRequest]) => ({ ...one, requiredAllocationRequest })),
);
const flavor = fc.record({
  name: word,
  version: fc.maxSafeNat(),
  description: word,
  resources: amounts,
  extraSpecs: fc.dictionary(word, word),
  createdAtMs: fc.maxSafeNat(),
  updatedAtMs: fc.maxSafeNat(),
});
const report = fc.record({
  instanceUuid: uuid,
  host: word,
  attempt: fc.nat(99),
  outcome: fc.constantFrom('active' as const, 'failed' as const, 'refused' as const, 'lost' as const),
  keptClaimToken: fc.maxSafeNat(),
  reason: word,
  message: fc.string(),
  claimToken: fc.maxSafeNat(),
  alternates: fc.array(alternate, { maxLength: 3 }),
  epoch: fc.maxSafeNat(),
  position: fc.maxSafeNat(),
});

/** Bytes of a decoded value are a view of the message, a Buffer; JSON makes them comparable with any other bytes. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, one: unknown) =>
      ArrayBuffer.isView(one) ? Buffer.from(one.buffer, one.byteOffset, one.byteLength).toJSON() : one,
    ),
  );

function roundTrips<T>(codec: Codec<T>, values: fc.Arbitrary<NoInfer<T>>) {
  fc.assert(fc.property(values, (value) => expect(plain(codec.decode(codec.encode(value)))).toEqual(plain(value))));
}

it('decodes what it encoded: request specs', () => {
  roundTrips(requestSpecCodec, spec);
  expect(requestSpecCodec.type).toBe('berth.scheduler.v1.RequestSpec');
});

it('decodes what it encoded: build reports and alternates', () => {
  roundTrips(buildReportCodec, report);
  roundTrips(alternatesCodec, fc.array(alternate, { maxLength: 5 }));
  expect(buildReportCodec.type).toBe('berth.compute.v1.BuildReport');
});

it('decodes what it encoded: what was claimed for a build, with the groups that it meets', () => {
  const claimed = fc.dictionary(uuid, amounts, { minKeys: 1, maxKeys: 4 });
  const build = claimed.chain((allocations) =>
    fc.record({
      allocations: fc.constant(allocations),
      mappings: fc.dictionary(fc.constantFrom('', '1', '_numa0'), fc.subarray(Object.keys(allocations)), {
        maxKeys: 3,
      }),
    }),
  );
  fc.assert(
    fc.property(build, (about) => {
      const { allocations, mappings } = buildInstanceCodec.decode(buildInstanceCodec.encode(aBuild(about)));
      expect({ allocations, mappings }).toEqual(about);
    }),
  );
});

it.each([
  [
    'malformed_uuid',
    'allocations[0].provider_uuid',
    { providerUuid: new Uint8Array(3), resourceClasses: [], amounts: [] },
  ],
  ['bad_amount', `allocations.${UUID}.VCPU`, { resourceClasses: ['VCPU'], amounts: [-1] }],
  ['bad_amount', `allocations.${UUID}.VCPU`, { resourceClasses: ['VCPU'], amounts: [] }],
  ['malformed_name', `allocations.${UUID}`, { resourceClasses: ['ponies'], amounts: [1] }],
  [
    'too_many',
    'allocations[0]',
    { resourceClasses: Array.from({ length: 257 }, (_, n) => `CUSTOM_${n}`), amounts: [] },
  ],
])('refuses %s in %s', (reason, field, allocation) => {
  const providerUuid = Buffer.from(UUID.replaceAll('-', ''), 'hex');
  expect(() => checkedAllocations([{ providerUuid, ...allocation }], 'allocations')).toThrow(
    expect.objectContaining({ code: 'invalid_argument', reason, details: { field } }),
  );
});

it('decodes what it encoded: flavors, and what changes them', () => {
  roundTrips(listFlavorsMethod.response, fc.record({ flavors: fc.array(flavor, { maxLength: 3 }) }));
  expect(flavorEventCodec.type).toBe('berth.flavor.v1.FlavorEvent');
  roundTrips(flavorEventCodec, fc.record({ change: fc.constantFrom('created', 'updated', 'deleted'), flavor }));
  roundTrips(
    updateFlavorMethod.request,
    fc.record({
      name: word,
      version: fc.maxSafeNat(),
      description: fc.option(fc.constantFrom('', 'x'), { nil: undefined }),
      setExtraSpecs: fc.dictionary(word, word),
      unsetExtraSpecs: fc.array(word, { maxLength: 3 }),
    }),
  );
});

it('decodes what it encoded: nodes', () => {
  const lastOrder = fc.record({
    verb: fc.constantFrom<NodeOperation>('maintain', 'power_off', 'set_boot_device'),
    restsOnUpdatedAtMs: fc.maxSafeNat(),
    begunAtMs: fc.maxSafeNat(),
    outcome: fc.constantFrom('begun', 'done', 'failed'),
    reason: fc.constantFrom('', 'controller_away'),
    message: fc.constantFrom('', 'no route'),
  });
  const node = fc
    .record({ updatedAtMs: fc.maxSafeNat(), isOn: fc.boolean(), lastOrder: fc.option(lastOrder, { nil: undefined }) })
    .map(aNodeRecord);
  expect(nodeCodec.type).toBe('berth.scheduler.v1.Node');
  roundTrips(nodeCodec, node);
});

it('decodes what it encoded: aggregates, zones and groups', () => {
  expect(listGroupsMethod.request.type).toBe('berth.group.v1.ListGroupsRequest');
  const metadata = fc.dictionary(
    word,
    word.filter((one) => one !== ''),
    { maxKeys: 5 },
  );
  const aggregate = fc.record({
    uuid,
    name: word,
    metadata,
    createdAtMs: fc.maxSafeNat(),
    updatedAtMs: fc.maxSafeNat(),
    hostCount: fc.nat(99),
  });
  roundTrips(
    listAggregatesMethod.response,
    fc.record({ aggregates: fc.array(aggregate, { maxLength: 3 }), hosts: fc.array(word, { maxLength: 3 }) }),
  );
  roundTrips(
    updateAggregateMethod.request,
    fc.record({
      aggregate: word,
      name: fc.constantFrom('', 'x'),
      setMetadata: metadata,
      unsetMetadata: fc.array(word),
    }),
  );
  const zone = fc.record({ name: word, hostCount: fc.nat(99), availableCount: fc.nat(99) });
  roundTrips(
    listZonesMethod.response,
    fc.record({ zones: fc.array(zone, { maxLength: 3 }), hosts: fc.array(word, { maxLength: 3 }) }),
  );
  const stored = fc
    .tuple(
      group,
      fc.record({ projectId: word, name: word, metadata, createdAtMs: fc.maxSafeNat(), memberCount: fc.nat(9) }),
    )
    .map(([{ policy, maxPerHost, spread: rule }, rest]) => ({ policy, maxPerHost, spread: rule, ...rest }));
  roundTrips(
    listGroupsMethod.response,
    fc.record({ groups: fc.array(stored, { maxLength: 3 }), members: fc.array(uuid, { maxLength: 3 }) }),
  );
});

it('carries errors across the wire with code, reason, message and details', () => {
  const error = new BerthError('resource_exhausted', 'queue_full', 'the queue is full', { details: { queue: 'q' } });
  expect(decodeError(encodeError(error))).toMatchObject({
    code: 'resource_exhausted',
    reason: 'queue_full',
    message: 'the queue is full',
    details: { queue: 'q' },
  });
});

function aBuild(about: Pick<BuildInstance, 'allocations' | 'mappings'>): BuildInstance {
  const who = {
    instanceUuid: UUID,
    requestId: UUID,
    name: '',
    projectId: 'p',
    userId: 'u',
    requestSpec: anEncodedSpec(),
  };
  const order = { host: 'h1', attempt: 1, claimToken: 1, alternates: [], deadlineAtMs: 0, timeLeftMs: 0, epoch: 0 };
  return { ...who, ...order, powerState: 'shutdown', allocationRequest: new Uint8Array(), ...about };
}

/** The code of what an action throws, if it throws; what is no BerthError is internal. */
function codeOf(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (thrown) {
    return BerthError.from(thrown).code;
  }
}

const CODECS: readonly Codec<never>[] = [
  addAggregateHostMethod.request,
  buildInstanceCodec,
  buildReportCodec,
  buildRequestCodec,
  createAggregateMethod.request,
  createFlavorMethod.request,
  createGroupMethod.request,
  destroyInstanceCodec,
  explainMethod.request,
  flavorEventCodec,
  hostDiscrepancyCodec,
  instanceEventCodec,
  listHostsMethod.response,
  listAggregatesMethod.response,
  listGroupsMethod.request,
  listInstancesMethod.request,
  requestSpecCodec,
  selectDestinationsMethod.request,
  selectDestinationsMethod.response,
  terminateInstanceCodec,
  updateFlavorMethod.request,
  updateResourceStatsMethod.request,
] as unknown as readonly Codec<never>[];

it.each(CODECS.map((codec) => [codec.type, codec] as const))(
  'refuses bytes that are no %s as invalid_argument, and nothing else',
  (_type, codec) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect([undefined, 'invalid_argument']).toContain(codeOf(() => codec.decode(bytes)));
      }),
      { numRuns: 500 },
    );
  },
);

describe('a build request', () => {
  const request: BuildRequest = {
    requestId: UUID,
    requestSpec: anEncodedSpec(),
    count: 1,
    name: 'web',
    instanceUuids: [],
  };
  const refusal = (changed: Partial<BuildRequest>) => {
    try {
      const decoded = buildRequestCodec.decode(buildRequestCodec.encode({ ...request, ...changed }));
      return requestSpecCodec.decode(decoded.requestSpec);
    } catch (thrown) {
      const { reason, details } = BerthError.from(thrown);
      return [reason, details['field']];
    }
  };

  it.each<[string, Partial<BuildRequest>, readonly string[]]>([
    ['without an id', { requestId: '' }, ['missing_field', 'request_id']],
    ['with an id that is no uuid', { requestId: 'x' }, ['malformed_uuid', 'request_id']],
    ['with a name that nobody can see', { name: 'web\u0000' }, ['malformed_name', 'name']],
    ['with a name that looks like another', { name: 'web ' }, ['malformed_name', 'name']],
    ...UNSEEN_SPECS.map(([field, unseen]): [string, Partial<BuildRequest>, readonly string[]] => [
      `with a control character in ${field}`,
      { requestSpec: anEncodedSpec(unseen) },
      ['malformed_name', `request_spec.${field}`],
    ]),
    [
      'that asks for nothing',
      { requestSpec: anEncodedSpec({ resources: {} }) },
      ['missing_field', 'request_spec.resources'],
    ],
    [
      'with a negative amount',
      { requestSpec: anEncodedSpec({ resources: { VCPU: -1 } }) },
      ['bad_amount', 'request_spec.resources.VCPU'],
    ],
    [
      'with a class in lower case',
      { requestSpec: anEncodedSpec({ resources: { vcpu: 1 } }) },
      ['malformed_name', 'request_spec.resources'],
    ],
    [
      'whose spec is too long for its instances',
      { count: 1_000, requestSpec: new Uint8Array(70_000) },
      ['too_long', 'request_spec'],
    ],
    [
      'under the uuid of a migration',
      { instanceUuids: ['11111111-1111-c111-8111-111111111111'] },
      ['reserved_uuid', 'instance_uuids[0]'],
    ],
    [
      'under the uuid of a reservation',
      { instanceUuids: ['11111111-1111-4111-c111-111111111111'] },
      ['reserved_uuid', 'instance_uuids[0]'],
    ],
    ['for too many instances', { count: MAX_INSTANCES_PER_REQUEST + 1 }, ['too_many', 'count']],
  ])('%s is refused with the field to blame', (_what, changed, expected) => {
    expect(refusal(changed)).toEqual(expected);
  });
});

it.each<readonly [string, () => unknown]>([
  ['group.metadata', () => aGroup({ metadata: { 'rack\u001b[2J': 'r1' } })],
  ['group.metadata.rack', () => aGroup({ metadata: { rack: 'r1\u0000' } })],
])('a group with a control character in %s is refused by that field', (field, decode) => {
  expect(() => decode()).toThrow(expect.objectContaining({ reason: 'malformed_name', details: { field } }));
});

/** As a scheduler answers. */
function aGroup(fields: object) {
  const named = {
    projectId: 'shop',
    name: 'web',
    policy: 'affinity' as const,
    maxPerHost: 1,
    metadata: {},
    createdAtMs: 1,
    memberCount: 0,
  };
  const { response } = createGroupMethod;
  return response.decode(response.encode({ group: { ...named, ...fields } }));
}

describe('request groups', () => {
  const numa = { suffix: '_numa', resources: { VCPU: 1 }, ...NO_RULES };
  const anchor = { suffix: '_anchor', resources: {}, ...NO_RULES };
  const decoded = (fields: Partial<RequestSpec>) =>
    requestSpecCodec.decode(requestSpecCodec.encode(aRequestSpec(fields)));

  it('may go without resources when they stand in a subtree', () => {
    const fields = { requestGroups: [numa, anchor], sameSubtrees: [['_numa', '_anchor']] };
    expect(decoded(fields)).toMatchObject(fields);
  });

  it.each([
    ['two of one name', { requestGroups: [numa, numa] }, 'duplicate_suffix', 'request_spec.request_groups'],
    [
      'a subtree of none',
      { requestGroups: [numa], sameSubtrees: [['_x']] },
      'unknown_value',
      'request_spec.same_subtrees',
    ],
    ['no resources', { requestGroups: [anchor] }, 'missing_field', 'request_spec.request_groups[0].resources'],
  ])('are refused: %s', (_what, fields, reason, field) => {
    expect(() => decoded(fields)).toThrow(expect.objectContaining({ reason, details: { field } }) as Error);
  });
});
