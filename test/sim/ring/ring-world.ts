import type { Bus } from '#libs/bus/port';
import { userOf } from '#libs/contracts/identity';
import { nodeCodec } from '#libs/contracts/nodes';
import { agentQueue, BUILD_REQUESTS } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import type { NodeRecord } from '#libs/domain/nodes/node';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { readConfig } from '#libs/runtime/config';
import type { Running } from '#libs/runtime/service';
import type { SimulatedBroker } from '#libs/simulation/simulated-bus';
import { type StoreServer } from '#libs/simulation/store-server';
import { agentOptions } from '../../../services/compute-agent/options';
import { startComputeAgent } from '../../../services/compute-agent/start';
import { type Member, Processes } from '../world/processes';
import { Rack } from './rack';
import { AGENT, CONDUCTOR, SCHEDULER } from './settings';

export const AGENTS = ['metal-1', 'metal-2', 'metal-3', 'metal-4'];
export const SERVICES = ['scheduler-1', 'scheduler-2', 'conductor-1', 'conductor-2', ...AGENTS];
export const OTHERS = ['tenant-a', 'tenant-b', 'operator'];

/** A pool of nodes that agents share by the ring, with its clients. */
export class RingWorld extends Processes {
  readonly services = SERVICES;
  readonly broker: SimulatedBroker;
  readonly server: StoreServer;
  readonly observer: Bus;
  readonly rack: Rack;
  /** Called with each stored record of a node. */
  onNode: (record: NodeRecord, regression: string | undefined) => void = () => {};

  constructor(seed: number) {
    super(seed);
    ({ broker: this.broker, server: this.server } = this.openServers(
      (of) => this.openSession(userOfProcess(of)),
      () => this.#openPlacement(),
    ));
    this.observer = this.openSession('');
    this.rack = new Rack(this.world);
  }

  async start(): Promise<void> {
    await this.observer.declare(BUILD_REQUESTS);
    // Agents' queues exist from enrolment on; services declare them.
    for (const agent of AGENTS) await this.observer.declare(agentQueue(agent));
    for (const name of [...SERVICES, ...OTHERS]) this.launch(name);
  }

  /** Agents that run, or will again. */
  presentAgents(): string[] {
    return AGENTS.filter((name) => !this.isGone(name));
  }

  protected serversOf() {
    return this;
  }

  protected async startOne(name: string, member: Member): Promise<Running | undefined> {
    switch (name.split('-')[0]) {
      case 'scheduler':
        return this.startScheduler(member, SCHEDULER);
      case 'conductor':
        return this.startConductor(member, CONDUCTOR, SCHEDULER);
      case 'metal':
        return this.#startAgent(name, member);
      default:
        return undefined;
    }
  }

  #startAgent(name: string, { process, bus, links }: Member): Promise<Running> {
    const link = this.linkTo('rack', process);
    links.push(link);
    const driver = async () => {
      throw new BerthError('internal', 'unexpected', 'an agent of a pool carries no hosts of its own');
    };
    const config = { ...readConfig(agentOptions, AGENT), host: name };
    return startComputeAgent({ ...this.around(process), bus, config, driver, nodes: this.rack.reachedBy(link) });
  }

  #openPlacement(): MemoryPlacementStore {
    const placement = new MemoryPlacementStore();
    const write = placement.writeNode.bind(placement);
    const latest = new Map<string, { readonly epoch: number; readonly updatedAtMs: number }>();
    placement.writeNode = async (node) => {
      const result = await write(node);
      // A late write changes nothing.
      const [content] = await placement.nodes([node.host]);
      if (content === undefined) return result;
      const record = nodeCodec.decode(Buffer.from(content, 'base64'));
      const before = latest.get(node.host) ?? { epoch: 0, updatedAtMs: 0 };
      const { epoch } = result.kind === 'written' ? node : before;
      const { updatedAtMs } = record;
      if (epoch < before.epoch) this.onNode(record, `is written under ${epoch}, after ${before.epoch}`);
      else if (epoch === before.epoch && updatedAtMs < before.updatedAtMs) this.onNode(record, 'is what it was before');
      else this.onNode(record, undefined);
      latest.set(node.host, { epoch, updatedAtMs });
      return result;
    };
    return placement;
  }
}

/** The broker's user of a process. */
function userOfProcess(name: string): string {
  switch (name.split('-')[0]) {
    case 'tenant':
      return userOf({ kind: 'project', projectId: name });
    case 'metal':
      return userOf({ kind: 'agent', host: name, carriesOthers: false, pool: AGENT.BERTH_AGENT_POOL });
    default:
      return '';
  }
}
