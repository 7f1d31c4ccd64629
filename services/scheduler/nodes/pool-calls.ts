import { answer } from '#libs/bus/typed-calls';
import { type Identity, isPoolAgent, requireHost, requireServiceHost } from '#libs/contracts/identity';
import { MAX_PAGE } from '#libs/contracts/limits';
import type { NodeView, WriteNodeRequest } from '#libs/contracts/nodes';
import { listNodesMethod, nodeCodec, readNodesMethod, writeNodeMethod } from '#libs/contracts/nodes';
import { type JoinPoolRequest, type JoinPoolResponse, joinPoolMethod, leavePoolMethod } from '#libs/contracts/pools';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { indexAfter } from '#libs/domain/names';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { epochRefusal } from '../reports/epoch-refusal';
import { isReadable, requireHolder, requirePool } from './pool-rights';

export interface PoolDeps {
  readonly placement: PlacementStore;
  readonly clock: Clock;
}

/** Calls of agents that share a pool of nodes, on the queue `stats`. */
export function poolCalls({ placement, clock }: PoolDeps) {
  return {
    ...answer(joinPoolMethod, (request, { identity }) => join(request, identity, placement, clock.now())),
    ...answer(leavePoolMethod, async (request, { identity }) => {
      requireServiceHost(identity, request.serviceHost);
      requirePool(identity, request.pool);
      await placement.leavePool(request);
      return {};
    }),
    ...answer(readNodesMethod, async ({ serviceHost, hosts, pool: asked, marker }, { identity }) => {
      requireServiceHost(identity, serviceHost);
      if (asked !== '') {
        requirePool(identity, asked);
        return { nodes: await pageOfPool(placement, asked, marker) };
      }
      if (!isPoolAgent(identity)) for (const host of hosts) requireHost(identity, host);
      const nodes = await readNodes(placement, hosts);
      return { nodes: nodes.filter(({ pool }) => isReadable(identity, pool)) };
    }),
    ...answer(writeNodeMethod, async (request, { identity }) => {
      await write(request, identity, placement);
      return {};
    }),
  };
}

/** Operators' calls about nodes, on the queue `rpc.scheduler`. */
export function nodeCalls({ placement }: Pick<PoolDeps, 'placement'>) {
  return answer(listNodesMethod, async ({ host, marker, limit }) => {
    const names = host === '' ? await pageOf(placement, marker, limit) : [host];
    const nodes = await readNodes(placement, names);
    if (host !== '' && nodes.length === 0)
      throw new BerthError('not_found', 'unknown_node', `there is no node ${host}`);
    const hosts = new Map((await placement.hosts(names)).map((one) => [one.name, one.serviceHost]));
    return { nodes: nodes.map((node) => ({ ...node, journal: '', serviceHost: hosts.get(node.host) ?? '' })) };
  });
}

/** @throws BerthError `permission_denied / wrong_host`, `/ wrong_pool`, `unavailable`. */
async function join(
  request: JoinPoolRequest,
  sender: Identity,
  placement: PlacementStore,
  atMs: number,
): Promise<JoinPoolResponse> {
  requireServiceHost(sender, request.serviceHost);
  requirePool(sender, request.pool);
  const grant = await placement.joinPool({ ...request, atMs });
  if (grant.kind === 'member') return { ...grant.pool, holderRun: '', heldForMs: 0 };
  return { epoch: 0, members: [], holderRun: grant.holder.agentRun, heldForMs: grant.leftMs };
}

/** @throws BerthError `permission_denied / wrong_host`, `/ wrong_pool`, `failed_precondition / epoch_superseded` or `epoch_unknown`. */
async function write(
  { serviceHost, epoch, node }: WriteNodeRequest,
  sender: Identity,
  placement: PlacementStore,
): Promise<void> {
  const { host } = node;
  requireServiceHost(sender, serviceHost);
  requirePool(sender, node.pool);
  await requireHolder(sender, { host, epoch }, placement);
  const content = Buffer.from(nodeCodec.encode(node)).toString('base64');
  const result = await placement.writeNode({ host, epoch, content, updatedAtMs: node.updatedAtMs });
  if (result.kind === 'epoch') throw epochRefusal(host, epoch, result.present);
}

/** Those that are remembered. */
async function readNodes(placement: PlacementStore, hosts: readonly string[]): Promise<NodeView[]> {
  const contents = await placement.nodes(hosts);
  return contents.filter((text) => text !== undefined).map((text) => nodeCodec.decode(Buffer.from(text, 'base64')));
}

/** The nodes of a pool after a name, as many as a page has, without their journals. */
async function pageOfPool(placement: PlacementStore, pool: string, marker: string): Promise<NodeView[]> {
  const names = await placement.nodeNames();
  const found: NodeView[] = [];
  for (let from = marker === '' ? 0 : indexAfter(names, marker); from < names.length; from += MAX_PAGE) {
    const nodes = (await readNodes(placement, names.slice(from, from + MAX_PAGE))).filter((node) => node.pool === pool);
    found.push(...nodes.map((node) => ({ ...node, journal: '' })));
    if (found.length >= MAX_PAGE) break;
  }
  return found.slice(0, MAX_PAGE);
}

async function pageOf(placement: PlacementStore, marker: string, limit: number): Promise<string[]> {
  const names = await placement.nodeNames();
  const from = marker === '' ? 0 : indexAfter(names, marker);
  return names.slice(from, from + limit);
}
