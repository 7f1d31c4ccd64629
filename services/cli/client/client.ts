import type { Bus } from '#libs/bus/port';
import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { explainMethod } from '#libs/contracts/diagnosis';
import { listHostsMethod, setHostEnabledMethod } from '#libs/contracts/hosts';
import { listInstancesMethod } from '#libs/contracts/instance';
import type {
  BuildRequest,
  ExplainRequest,
  ExplainResponse,
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

export type InstanceQuery = Omit<ListInstancesRequest, 'marker' | 'limit'>;

/** What a client can ask of Berth over the bus. Errors as of `Bus.call` and `Bus.cast`. */
export interface Client {
  readonly bus: Bus;
  readonly clock: Clock;
  /** Whose user the client is, and all that it sees; undefined for an operator. */
  readonly project: string | undefined;
  /**
   * Resolves when the broker has confirmed the request: each of its instances will end ACTIVE or in ERROR.
   * @throws BerthError `invalid_argument` when it is malformed.
   */
  build(request: BuildRequest): Promise<void>;
  /** Resolves when the broker has confirmed the request. */
  terminate(instanceUuid: string): Promise<void>;
  /** At most `limit` instances, ordered by uuid. */
  instances(query: Partial<InstanceQuery>, limit: number): Promise<InstanceView[]>;
  /** All hosts, ordered by name; or the named one. */
  hosts(host?: string): Promise<HostSummary[]>;
  setHostEnabled(request: SetHostEnabledRequest): Promise<HostSummary>;
  explain(request: ExplainRequest): Promise<ExplainResponse>;
}

/** @param timeoutMs  the deadline of each call */
export function createClient(bus: Bus, clock: Clock, timeoutMs: number, project?: string): Client {
  const toScheduler = RPC_SCHEDULER;
  return {
    bus,
    clock,
    project,
    async build(request) {
      // Validates what the conductor would refuse later.
      requestSpecCodec.decode(buildRequestCodec.decode(buildRequestCodec.encode(request)).requestSpec);
      const options = { id: request.requestId };
      await castTyped(bus, BUILD_REQUESTS, buildRequestCodec, request, options);
    },
    terminate: (instanceUuid) => {
      const request = { instanceUuid, projectId: project ?? '' };
      return castTyped(bus, BUILD_REQUESTS, terminateInstanceCodec, request);
    },
    async setHostEnabled(request) {
      return (await callMethod(bus, toScheduler, setHostEnabledMethod, request, { timeoutMs })).host;
    },
    explain: (request) => callMethod(bus, toScheduler, explainMethod, request, { timeoutMs }),
    hosts: (host = '') =>
      allPages(Number.POSITIVE_INFINITY, async (last: HostSummary | undefined, pageLimit) => {
        const request = { host, marker: last?.host ?? '', limit: pageLimit };
        return (await callMethod(bus, toScheduler, listHostsMethod, request, { timeoutMs })).hosts;
      }),
    instances: (query, limit) =>
      allPages(limit, async (last: InstanceView | undefined, pageLimit) => {
        const request = { ...EVERY_INSTANCE, ...query, marker: last?.uuid ?? '', limit: pageLimit };
        return (await callMethod(bus, RPC_CONDUCTOR, listInstancesMethod, request, { timeoutMs })).instances;
      }),
  };
}

const EVERY_INSTANCE: InstanceQuery = { instanceUuid: '', requestId: '', projectId: '', state: undefined, host: '' };

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
