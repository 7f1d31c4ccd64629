import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { operateNode } from '#libs/client/operate-node';
import type { NodeView } from '#libs/contracts/nodes';
import { listNodesMethod, operateNodeCodec } from '#libs/contracts/nodes';
import { agentQueue, RPC_SCHEDULER } from '#libs/contracts/queues';
import type { NodeOperation } from '#libs/domain/nodes/node';
import type { Random } from '#libs/domain/random';
import { confirmed, pick } from '../actions/common';
import { NODE_NAMES } from './rack';
import type { Perform, RingRun } from './ring-checker';

const ANSWER_MS = 2_000;
const ORDER_MS = 8_000;
/** Most copies of an order without a basis; each of them takes effect. */
const COPIES = 4;
/** Operations that may switch a node off. */
const SWITCHING: readonly NodeOperation[] = ['power_off', 'reboot', 'rescue', 'unrescue'];

/** A node is in maintenance for a while. */
export function maintain(random: Random): Perform {
  return thereAndBack(random, 'maintain', 'unmaintain');
}

export function rescue(random: Random): Perform {
  return thereAndBack(random, 'rescue', 'unrescue');
}

/** A node is taken out of service, and provided again, which cleans it. */
export function manage(random: Random): Perform {
  return thereAndBack(random, 'manage', 'provide');
}

export function clean(random: Random): Perform {
  const node = pick(random, NODE_NAMES);
  return (run) => void operate(run, node, 'clean');
}

export function power(random: Random): Perform {
  const node = pick(random, NODE_NAMES);
  const verb = pick(random, ['power_off', 'power_on', 'reboot'] as const);
  return (run) => void operate(run, node, verb);
}

/** An order to switch a node off is delayed while its agent is paused, or arrives twice, after much has changed. */
export function latePower(random: Random): Perform {
  const node = pick(random, NODE_NAMES);
  const verb = pick(random, ['power_off', 'reboot'] as const);
  const afterMs = 500 + random.next() * 7_000;
  return (run) => {
    run.fleet.member('operator').bus.duplicateNext(afterMs);
    void operate(run, node, verb);
  };
}

/** Maintenance of many nodes at the same time, so that few are left. */
export function maintainMany(random: Random): Perform {
  const each = NODE_NAMES.filter(() => random.next() < 0.5).map(() => maintain(random));
  return (run) => {
    for (const one of each) one(run);
  };
}

/** An order without a basis, as of a tool that reads nothing before. */
export function carelessPower(random: Random): Perform {
  const host = pick(random, NODE_NAMES);
  const verb = pick(random, ['power_off', 'reboot'] as const);
  return (run) => {
    const { bus } = run.fleet.member('operator');
    const order = { host, verb, reason: '', bootDevice: undefined, epoch: 0, restsOnUpdatedAtMs: 0 };
    const cast = async () => {
      const [before] = await show(run, host);
      if (!before?.serviceHost) return;
      run.checker.maySwitch(host, COPIES);
      await castTyped({ bus, queue: agentQueue(before.serviceHost) }, operateNodeCodec, order, {
        expiresInMs: ORDER_MS,
      });
    };
    void confirmed(cast());
  };
}

function thereAndBack(random: Random, there: NodeOperation, back: NodeOperation): Perform {
  const node = pick(random, NODE_NAMES);
  const forMs = 500 + random.next() * 10_000;
  const isLeft = random.next() < 0.2;
  return (run) => {
    void operate(run, node, there);
    if (!isLeft) run.fleet.later(forMs, () => void operate(run, node, back));
  };
}

async function operate(run: RingRun, node: string, verb: NodeOperation): Promise<void> {
  const { bus, process } = run.fleet.member('operator');
  if (SWITCHING.includes(verb)) run.checker.maySwitch(node);
  const parts = { bus, clock: process.clock, timeoutMs: ORDER_MS, show: (host: string) => show(run, host) };
  await confirmed(operateNode(parts, node, { verb, reason: 'an operator' }));
}

async function show({ fleet }: RingRun, host: string): Promise<NodeView[]> {
  const request = { host, marker: '', limit: 0 };
  const { nodes } = await callMethod(
    { bus: fleet.member('operator').bus, queue: RPC_SCHEDULER },
    listNodesMethod,
    request,
    {
      timeoutMs: ANSWER_MS,
    },
  );
  return [...nodes];
}
