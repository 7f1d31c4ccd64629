import type { Message, SimulatedBroker } from '#libs/simulation/simulated-bus';
import { Processes as AnyProcesses, type Servers } from '#services/rehearsal/world/processes';
import { describeMessage } from '../describe';
import { ProtocolTrace } from '../model/trace/protocol-trace';

export type { Member, Servers } from '#services/rehearsal/world/processes';

/** When each run begins: whole, so that histories are easy to read. */
export const START_MS = 1_700_000_000_000;

/** The processes of a world that is checked: all that they do is on its history, in words, and is checked against the model. */
export abstract class Processes extends AnyProcesses {
  /** One for each store. */
  readonly traces: ProtocolTrace[] = [];

  constructor(seed: number) {
    super(seed, START_MS);
  }

  /** The first step that the model of the protocol does not allow. */
  get brokenTrace(): string | undefined {
    return this.traces.find(({ broken }) => broken !== undefined)?.broken;
  }

  protected override describe(message: Message): string {
    return describeMessage(message);
  }

  protected override openServers(
    openSession: SimulatedBroker['openSession'],
    openPlacement?: Parameters<AnyProcesses['openServers']>[1],
    isTop = false,
  ): Servers {
    const servers = super.openServers(openSession, openPlacement);
    const trace = new ProtocolTrace(() => this.time.nowMs, isTop);
    trace.watchStore(servers.server);
    trace.watchBroker(servers.broker);
    this.traces.push(trace);
    return servers;
  }
}
