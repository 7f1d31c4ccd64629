import type { SelectDestinationsRequest } from '#libs/contracts/messages';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { anInstance } from '#libs/testing/instances/instance';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import type { Conductor } from '../context';
import { selectDestinations } from './select-destinations';

it('asks for instances of two requests in two calls, each with its own spec', async () => {
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
  const c = { bus, config: { selectTimeoutMs: 1_000, numAlternates: 2 } } as unknown as Conductor;
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
