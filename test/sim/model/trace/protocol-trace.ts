import type { Bus } from '#libs/bus/port';
import { buildInstanceCodec, destroyInstanceCodec } from '#libs/contracts/compute';
import { buildRequestCodec } from '#libs/contracts/conductor';
import { instanceEventCodec } from '#libs/contracts/instance';
import type { Message, SimulatedBroker } from '#libs/simulation/simulated-bus';
import type { StoreCall, StoreServer } from '#libs/simulation/store-server';
import { NOTHING, type Protocol, type ProtocolStep, stepProtocol, wentBack } from '../protocol';
import type { RecordStep } from '../records';
import { isBroken } from '../step';
import { stepsOfCall } from './steps-of-call';

/**
 * Checks each step of a run against the model: what a store did for its callers, and what its services publish. The first that the
 * model does not allow is kept. (Trace validation, as CCF does it: Howard et al., "Smart Casual Verification of CCF's Distributed
 * Consensus and Consistency Protocols".)
 */
export class ProtocolTrace {
  broken: string | undefined;
  /** A service sends a cell, or its own, a request to build. */
  onGiven: (uuids: readonly string[], process: string) => void = () => {};
  /** Steps by kind, so that a test can see that they were there. */
  readonly counts = new Map<string, number>();
  #state: Protocol = NOTHING;
  /** The states after each step, for a store that goes back to one. */
  readonly #states: { readonly atMs: number; readonly state: Protocol }[] = [];

  /** @param isTop  whether it is the store of a fleet's top, where conductors' claims are reservations */
  constructor(
    private readonly now: () => number,
    private readonly isTop: boolean,
  ) {}

  watchStore(server: StoreServer): void {
    server.onCall = (call, result) => this.#called(call, result);
    server.onWentBack = (toMs) => {
      const kept = this.#states.findLastIndex(({ atMs }) => atMs <= toMs);
      this.#states.length = kept + 1;
      this.#keep(wentBack(this.#state, this.#states.at(-1)?.state ?? NOTHING));
    };
  }

  /** Sessions that tell of what services send before they send it. */
  watchBroker(broker: SimulatedBroker): void {
    const open = broker.openSession.bind(broker);
    broker.openSession = (process) => this.#watched(open(process), process);
  }

  take(step: ProtocolStep): void {
    if (this.broken !== undefined) return;
    const kind = `${step.of}: ${step.step.kind}`;
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    const next = stepProtocol(this.#state, step);
    if (isBroken(next)) this.broken = `${kind}: ${next.broken}`;
    else this.#keep(next);
  }

  #called(call: StoreCall, result: unknown): void {
    for (const step of stepsOfCall(call, result, { atMs: this.now(), isTop: this.isTop })) this.take(step);
  }

  #keep(state: Protocol): void {
    this.#state = state;
    this.#states.push({ atMs: this.now(), state });
  }

  #watched(session: Bus, process: string): Bus {
    if (!isService(process)) return session;
    const cast = session.cast.bind(session);
    const publish = session.publish.bind(session);
    session.cast = (address, message, options) => {
      const order = orderOf(message);
      if (order) this.take({ of: 'records', step: order });
      if (message.type === buildRequestCodec.type)
        this.onGiven(buildRequestCodec.decode(message.body).instanceUuids, process);
      return cast(address, message, options);
    };
    session.publish = (topic, message) => {
      const told = message.type === instanceEventCodec.type && instanceEventCodec.decode(message.body);
      if (told) {
        const { instanceUuid: uuid, version, state } = told;
        this.take({ of: 'records', step: { kind: 'publish', uuid, version, state } });
      }
      return publish(topic, message);
    };
    return session;
  }
}

function orderOf({ type, body }: Message): RecordStep | undefined {
  const order = type === buildInstanceCodec.type ? buildInstanceCodec.decode(body) : undefined;
  if (order) return { kind: 'build', uuid: order.instanceUuid, host: order.host, attempt: order.attempt };
  if (type !== destroyInstanceCodec.type) return undefined;
  const { instanceUuid: uuid, host, attempt } = destroyInstanceCodec.decode(body);
  return { kind: 'destroy', uuid, host, attempt };
}

/** Conductors order and publish; what tenants and liars send is no step of the protocol. */
function isService(process: string): boolean {
  return process.includes('conductor');
}
