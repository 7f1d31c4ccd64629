import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { type SelectDestinationsRequest, selectDestinationsMethod } from '#libs/contracts/selection';
import type { Attempt, Instance } from '#libs/domain/instance';
import { type MigrationKind, textOf } from '#libs/domain/moves/migration';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { anInstance } from '#libs/testing/instances/instance';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import type { Conductor } from '../conductor';
import { selectDestinations } from './select-destinations';

/** A conductor whose scheduler has no host for anything. */
function withoutHosts() {
  const asked: (SelectDestinationsRequest & { readonly queue: unknown })[] = [];
  const bus = {
    call: async (queue: unknown, { body }: { readonly body: Uint8Array }) => {
      const request = selectDestinationsMethod.request.decode(body);
      asked.push({ ...request, queue });
      const summary = `no host for ${request.requestId}`;
      const noValidHost = { summary, hostsConsidered: 0, filters: [], claimConflicts: 0, placedBefore: undefined };
      return selectDestinationsMethod.response.encode({ destinations: [], noValidHost } as never);
    },
  };
  const config = { selectTimeoutMs: 1_000, numAlternates: 2 };
  const clock = { now: () => 0 };
  const c = { bus, config, clock, placement: new MemoryPlacementStore() } as unknown as Conductor;
  return { asked, c };
}

it('asks for instances of two requests in two calls, each with its own spec', async () => {
  const { asked, c } = withoutHosts();
  const small = anInstance({ requestSpec: anEncodedSpec({ resources: { VCPU: 1 } }) });
  const large = anInstance({ requestSpec: anEncodedSpec({ resources: { VCPU: 4 } }) });
  const other = anInstance({ requestId: small.requestId, requestSpec: small.requestSpec });
  const observationOf = await selectDestinations(c, [small, large, other]);
  expect(asked).toMatchObject([
    { queue: RPC_SCHEDULER, requestId: small.requestId, instanceUuids: [small.uuid, other.uuid] },
    { queue: RPC_SCHEDULER, requestId: large.requestId, instanceUuids: [large.uuid] },
  ]);
  expect(asked.map(({ requestSpec }) => Buffer.from(requestSpec))).toEqual(
    [small, large].map(({ requestSpec }) => Buffer.from(requestSpec)),
  );
  expect([small, large, other].map(({ uuid }) => observationOf(uuid))).toMatchObject(
    [small, large, other].map(({ requestId }) => ({ kind: 'no_host', fault: { message: `no host for ${requestId}` } })),
  );
});

const migration = (kind: MigrationKind, targetHost = '') => {
  const end = { host: 'h1', attempt: 1, allocationRequest: '', requestSpec: textOf(FORCED) };
  return {
    uuid: '6f1f36c4-52f9-4a3c-9f6f-0d2f0a4b7a11',
    kind,
    phase: 'selecting',
    source: { ...end, claimToken: 7, activeAt: undefined },
    destination: end,
    targetHost,
    claimToken: undefined,
    handover: '',
    confirmAfterMs: 0,
    confirmAtMs: undefined,
  } as const;
};
const FORCED = anEncodedSpec({ resources: { VCPU: 1 }, forceHosts: ['h1'] });
const attempt = (outcome: Attempt['outcome']) => {
  return { host: 'h1', number: 1, outcome, reason: '', startedAtMs: 0, endedAtMs: undefined } as const;
};

it.each<[string, Partial<Instance>, readonly string[]]>([
  ['a build', { state: 'scheduling' }, ['h1']],
  ['another try of a build', { state: 'building', attempts: [attempt('failed')] }, ['h1']],
  ['a cold migration', { state: 'resize', migration: migration('migrate') }, []],
  ['a live migration', { state: 'migrating', migration: migration('live_migrate') }, []],
  ['a resize', { state: 'resize', migration: migration('resize') }, []],
  ['a migration to a host', { state: 'resize', migration: migration('migrate', 'h2') }, ['h2']],
  ['an evacuation', { state: 'rebuilding', host: 'h1', attempts: [attempt('active')] }, []],
  ['another try of an evacuation', { state: 'building', attempts: [attempt('evacuated')] }, []],
  ['unshelving', { state: 'unshelving', attempts: [attempt('shelved')] }, []],
])('binds %s to the hosts that were named for the first build, or not', async (_, record, forceHosts) => {
  const { asked, c } = withoutHosts();
  await selectDestinations(c, [anInstance({ requestSpec: FORCED, ...record })]);
  expect(asked.map(({ requestSpec }) => requestSpecCodec.decode(requestSpec).forceHosts)).toEqual([forceHosts]);
});
