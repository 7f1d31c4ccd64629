import type { Bus } from '#libs/bus/port';
import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { explainMethod } from '#libs/contracts/diagnosis';
import { listHostsMethod, setHostEnabledMethod } from '#libs/contracts/hosts';
import { listInstancesMethod } from '#libs/contracts/instance';
import type {
  BuildRequest,
  ExplainRequest,
  HostSummary,
  InstanceView,
  ListInstancesRequest,
  SetHostEnabledRequest,
} from '#libs/contracts/messages';
import { BUILD_REQUESTS, RPC_CONDUCTOR, RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Clock } from '#libs/domain/clock';

/** Rows in a page of an answer. */
const PAGE = 500;

/** What a client can ask of Berth over the bus. Errors as of `Bus.call` and `Bus.cast`. */
export type Client = ReturnType<typeof createClient>;

/**
 * @param timeoutMs  the deadline of each call
 * @param project    whose user it is, and all that it sees; undefined for an operator
 */
export function createClient(bus: Bus, clock: Clock, timeoutMs: number, project?: string) {
  return {
    bus,
    clock,
    project,
    /**
     * Resolves when the broker has confirmed the request: each of its instances will end ACTIVE or in ERROR.
     * @throws BerthError `invalid_argument` when it is malformed.
     */
    async build(request: BuildRequest): Promise<void> {
      // Validates what the conductor would refuse later.
      requestSpecCodec.decode(buildRequestCodec.decode(buildRequestCodec.encode(request)).requestSpec);
      await castTyped(bus, BUILD_REQUESTS, buildRequestCodec, request, { id: request.requestId });
    },
    /** Resolves when the broker has confirmed the request. */
    terminate: (instanceUuid: string) =>
      castTyped(bus, BUILD_REQUESTS, terminateInstanceCodec, { instanceUuid, projectId: project ?? '' }),
    async setHostEnabled(request: SetHostEnabledRequest): Promise<HostSummary> {
      return (await callMethod(bus, RPC_SCHEDULER, setHostEnabledMethod, request, { timeoutMs })).host;
    },
    explain: (request: ExplainRequest) => callMethod(bus, RPC_SCHEDULER, explainMethod, request, { timeoutMs }),
    /** All hosts, ordered by name; or the named one. */
    hosts: (host = '') =>
      allPages(Number.POSITIVE_INFINITY, async (last: HostSummary | undefined, limit) => {
        const request = { host, marker: last?.host ?? '', limit };
        return (await callMethod(bus, RPC_SCHEDULER, listHostsMethod, request, { timeoutMs })).hosts;
      }),
    /** At most `most` instances, ordered by uuid. */
    instances: (query: Partial<ListInstancesRequest>, most: number) =>
      allPages(most, async (last: InstanceView | undefined, limit) => {
        const request = { ...EVERY_INSTANCE, ...query, marker: last?.uuid ?? '', limit };
        return (await callMethod(bus, RPC_CONDUCTOR, listInstancesMethod, request, { timeoutMs })).instances;
      }),
  };
}

const EVERY_INSTANCE = { instanceUuid: '', requestId: '', projectId: '', state: undefined, host: '' };

async function allPages<T>(
  limit: number,
  read: (last: T | undefined, pageLimit: number) => Promise<readonly T[]>,
): Promise<T[]> {
  const rows: T[] = [];
  for (;;) {
    const pageLimit = Math.min(PAGE, limit - rows.length);
    const page = await read(rows.at(-1), pageLimit);
    rows.push(...page);
    if (page.length < pageLimit || rows.length >= limit) return rows;
  }
}
