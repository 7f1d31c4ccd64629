import type { Bus } from '#libs/bus/port';
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
import { callMethod, castTyped } from '#libs/contracts/rpc';
import { BUILD_REQUESTS, RPC_CONDUCTOR, RPC_SCHEDULER } from '#libs/contracts/topology';
import type { Clock } from '#libs/domain/clock';

/** Answers are read in pages of this many. */
const PAGE = 500;

export type InstanceQuery = Omit<ListInstancesRequest, 'marker' | 'limit'>;

/** What a client of Berth can ask, over the bus alone. Errors as `Bus.call` and `Bus.cast`. */
export interface Client {
  readonly bus: Bus;
  readonly clock: Clock;
  /**
   * Resolves when the broker has the request safely; its instances come to an end whatever happens.
   * @throws BerthError `invalid_argument` when it is malformed.
   */
  build(request: BuildRequest): Promise<void>;
  /** Likewise. */
  terminate(instanceUuid: string): Promise<void>;
  /** At most `limit` instances, by uuid. */
  instances(query: Partial<InstanceQuery>, limit: number): Promise<InstanceView[]>;
  /** All hosts by name, or the one named. */
  hosts(host?: string): Promise<HostSummary[]>;
  setHostEnabled(request: SetHostEnabledRequest): Promise<HostSummary>;
  explain(request: ExplainRequest): Promise<ExplainResponse>;
}

/** @param timeoutMs  how long a call may take */
export function createClient(bus: Bus, clock: Clock, timeoutMs: number): Client {
  const toScheduler = RPC_SCHEDULER.name;
  return {
    bus,
    clock,
    async build(request) {
      // What the conductor would refuse, later and elsewhere, is said here and now.
      buildRequestCodec.decode(buildRequestCodec.encode(request));
      const options = { id: request.requestId, isPackable: true };
      await castTyped(bus, BUILD_REQUESTS.name, buildRequestCodec, request, options);
    },
    terminate: (instanceUuid) => {
      const request = { instanceUuid, projectId: '' };
      return castTyped(bus, BUILD_REQUESTS.name, terminateInstanceCodec, request, { isPackable: true });
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
        return (await callMethod(bus, RPC_CONDUCTOR.name, listInstancesMethod, request, { timeoutMs })).instances;
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
