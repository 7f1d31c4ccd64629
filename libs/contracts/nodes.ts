import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import { isNodeClass } from '../domain/nodes/node';
import {
  hostName,
  hostNameOrEmpty,
  name,
  requiredName,
  requiredServiceHost,
  text,
  textOf,
  traits,
  uuid,
  uuidOrEmpty,
  whole,
} from './checks';
import { ruled } from './field-rules';
import { enumBy, enumOf, flag, list, oneOf, optional, orUndefined, pageLimit } from './fields';
import { MAX_HOSTS_PER_AGENT, MAX_NODE_JOURNAL_BYTES, MAX_PAGE } from './limits';
import { message, type PlainOf } from './message';
import { FEW, KIB, MANY, ofAgents, ofServices, WHOLE } from './message-rules';

const wire = berth.scheduler.v1;
const { BootDevice, NodeState, OrderOutcome } = wire;

const state = enumOf(NodeState, 'NODE_STATE');
const bootDevice = enumBy({
  Pxe: BootDevice.BOOT_DEVICE_PXE,
  Hdd: BootDevice.BOOT_DEVICE_HDD,
  Cd: BootDevice.BOOT_DEVICE_CD,
  Utilities: BootDevice.BOOT_DEVICE_UTILITIES,
});
const operation = enumOf(berth.compute.v1.NodeVerb, 'NODE_VERB');

/** Classes are created on first use: a node of a known agent brings one, and so its name is checked here. */
const nodeClass = ruled({ format: 'node_class' }, (value: string, path: string): string => {
  if (value === '' || isNodeClass(value)) return value;
  throw invalidArgument('bad_class', `${path} must be CUSTOM_BAREMETAL_<CLASS>, not '${value.slice(0, 64)}'`, path);
});

const lastOrder = message(wire.LastOrder, {
  verb: oneOf(operation.words),
  restsOnUpdatedAtMs: whole,
  begunAtMs: whole,
  outcome: enumOf(OrderOutcome, 'ORDER_OUTCOME'),
  reason: name,
  message: text,
});

/** A node as it is kept in the store and sent. */
export const nodeCodec = message(
  wire.Node,
  {
    host: hostName,
    pool: requiredName,
    resourceClass: nodeClass,
    traits,
    state,
    stateBefore: orUndefined(state),
    reason: text,
    isOn: flag,
    bootDevice,
    instanceUuid: uuidOrEmpty,
    step: name,
    updatedAtMs: whole,
    lastOrder: orUndefined(lastOrder),
    journal: textOf(MAX_NODE_JOURNAL_BYTES),
    systemId: name,
    health: text,
    contactedAtMs: whole,
    tellsBoot: flag,
    systemLink: name,
    /** The agent that manages it, where that is asked for. */
    serviceHost: optional(hostName),
  },
  { path: 'node' },
);
export type NodeView = PlainOf<typeof nodeCodec>;

/** To `stats`: what is remembered of nodes that the sender holds. */
export const readNodesMethod = {
  request: message(
    wire.ReadNodesRequest,
    {
      serviceHost: requiredServiceHost,
      hosts: list(hostName, MAX_HOSTS_PER_AGENT),
      pool: name,
      marker: hostNameOrEmpty,
    },
    { rule: ofAgents(WHOLE, FEW) },
  ),
  response: message(wire.ReadNodesResponse, { nodes: list(nodeCodec, MAX_HOSTS_PER_AGENT) }),
};
export type ReadNodesRequest = PlainOf<typeof readNodesMethod.request>;

/** To `stats`: what is to be remembered of a node, by its holder. */
export const writeNodeMethod = {
  request: message(
    wire.WriteNodeRequest,
    { serviceHost: requiredServiceHost, epoch: whole, node: nodeCodec },
    { rule: ofAgents(1_024 * KIB, MANY) },
  ),
  response: message(wire.WriteNodeResponse, {}),
};
export type WriteNodeRequest = PlainOf<typeof writeNodeMethod.request>;

/** To `rpc.scheduler`: all nodes for operators, page by page. */
export const listNodesMethod = {
  request: message(
    wire.ListNodesRequest,
    { host: hostNameOrEmpty, marker: hostNameOrEmpty, limit: pageLimit(MAX_PAGE, MAX_PAGE) },
    { rule: ofServices(FEW) },
  ),
  response: message(wire.ListNodesResponse, { nodes: list(nodeCodec, MAX_HOSTS_PER_AGENT) }),
};
export type ListNodesRequest = PlainOf<typeof listNodesMethod.request>;

/** To `agent.<service host>`: an operator's word about a node. */
export const operateNodeCodec = message(
  berth.compute.v1.OperateNode,
  {
    host: hostName,
    verb: operation,
    reason: text,
    bootDevice: orUndefined(bootDevice),
    epoch: whole,
    restsOnUpdatedAtMs: whole,
  },
  { rule: ofServices(FEW) },
);
export type OperateNode = PlainOf<typeof operateNodeCodec>;

/** To `rpc.conductor`: an instance that has a node by processors, memory and disk is to hold the node's class. */
export const healAllocationMethod = {
  request: message(berth.conductor.v1.HealAllocationRequest, { instanceUuid: uuid }, { rule: ofServices(FEW) }),
  response: message(berth.conductor.v1.HealAllocationResponse, { resourceClass: requiredName, changed: flag }),
};
export type HealAllocationRequest = PlainOf<typeof healAllocationMethod.request>;
export type HealAllocationResponse = PlainOf<typeof healAllocationMethod.response>;
