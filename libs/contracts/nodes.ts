import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import { isNodeClass, type LastOrder, type NodeOperation, type NodeRecord } from '../domain/nodes/node';
import {
  enumeration,
  hostName,
  hostNameOrEmpty,
  list,
  missing,
  name,
  pageLimit,
  requiredName,
  requiredServiceHost,
  text,
  traits,
  uuid,
  uuidOrEmpty,
  whole,
  word,
} from './checks';
import { type Codec, codec, type Method } from './codec';
import { MAX_HOSTS_PER_AGENT, MAX_NODE_JOURNAL_BYTES, MAX_PAGE } from './limits';
import type {
  HealAllocationRequest,
  HealAllocationResponse,
  ListNodesRequest,
  NodesResponse,
  NodeView,
  OperateNode,
  ReadNodesRequest,
  WriteNodeRequest,
} from './messages';

const wire = berth.scheduler.v1;
const STATES = enumeration({
  enroll: wire.NodeState.NODE_STATE_ENROLL,
  manageable: wire.NodeState.NODE_STATE_MANAGEABLE,
  cleaning: wire.NodeState.NODE_STATE_CLEANING,
  available: wire.NodeState.NODE_STATE_AVAILABLE,
  deploying: wire.NodeState.NODE_STATE_DEPLOYING,
  active: wire.NodeState.NODE_STATE_ACTIVE,
  rescue: wire.NodeState.NODE_STATE_RESCUE,
  maintenance: wire.NodeState.NODE_STATE_MAINTENANCE,
  error: wire.NodeState.NODE_STATE_ERROR,
});
const BOOT_DEVICES = enumeration({
  Pxe: wire.BootDevice.BOOT_DEVICE_PXE,
  Hdd: wire.BootDevice.BOOT_DEVICE_HDD,
  Cd: wire.BootDevice.BOOT_DEVICE_CD,
  Utilities: wire.BootDevice.BOOT_DEVICE_UTILITIES,
});
const OUTCOMES = enumeration({
  begun: wire.OrderOutcome.ORDER_OUTCOME_BEGUN,
  done: wire.OrderOutcome.ORDER_OUTCOME_DONE,
  failed: wire.OrderOutcome.ORDER_OUTCOME_FAILED,
});
const { NODE_STATE_UNSPECIFIED: NO_STATE } = wire.NodeState;
const { BOOT_DEVICE_UNSPECIFIED: NO_DEVICE } = wire.BootDevice;
const { NodeVerb } = berth.compute.v1;
const NODE_VERBS = {
  manage: NodeVerb.NODE_VERB_MANAGE,
  provide: NodeVerb.NODE_VERB_PROVIDE,
  clean: NodeVerb.NODE_VERB_CLEAN,
  rescue: NodeVerb.NODE_VERB_RESCUE,
  unrescue: NodeVerb.NODE_VERB_UNRESCUE,
  maintain: NodeVerb.NODE_VERB_MAINTAIN,
  unmaintain: NodeVerb.NODE_VERB_UNMAINTAIN,
  power_on: NodeVerb.NODE_VERB_POWER_ON,
  power_off: NodeVerb.NODE_VERB_POWER_OFF,
  reboot: NodeVerb.NODE_VERB_REBOOT,
  set_boot_device: NodeVerb.NODE_VERB_SET_BOOT_DEVICE,
} satisfies Record<NodeOperation, number>;
const VERBS = enumeration(NODE_VERBS);
const VERB_WORDS = Object.keys(NODE_VERBS) as NodeOperation[];

/** A node as it is kept in the store and sent. @throws BerthError `invalid_argument`, also `bad_class`. */
export const nodeCodec: Codec<NodeView> = codec('berth.scheduler.v1.Node', wire.Node, nodeToWire, (node) =>
  nodeFromWire(node, 'node'),
);

/** To `stats`: what is remembered of nodes that the sender holds. */
export const readNodesMethod: Method<ReadNodesRequest, NodesResponse> = {
  request: codec(
    'berth.scheduler.v1.ReadNodesRequest',
    wire.ReadNodesRequest,
    (request) => ({ ...request, hosts: request.hosts as string[] }),
    (request) => ({
      serviceHost: requiredServiceHost(request.serviceHost, 'service_host'),
      hosts: list(request.hosts, 'hosts', MAX_HOSTS_PER_AGENT, hostName),
      pool: name(request.pool, 'pool'),
      marker: hostNameOrEmpty(request.marker, 'marker'),
    }),
  ),
  response: nodesCodec('berth.scheduler.v1.ReadNodesResponse', wire.ReadNodesResponse),
};

/** To `stats`: what is to be remembered of a node, by its holder. */
export const writeNodeMethod: Method<WriteNodeRequest, Record<string, never>> = {
  request: codec(
    'berth.scheduler.v1.WriteNodeRequest',
    wire.WriteNodeRequest,
    (request) => ({ ...request, node: nodeToWire(request.node) }),
    ({ serviceHost, epoch, node }) => {
      if (!node) throw missing('node');
      return {
        serviceHost: requiredServiceHost(serviceHost, 'service_host'),
        epoch: whole(epoch, 'epoch'),
        node: nodeFromWire(node as berth.scheduler.v1.Node, 'node'),
      };
    },
  ),
  response: codec(
    'berth.scheduler.v1.WriteNodeResponse',
    wire.WriteNodeResponse,
    () => ({}),
    () => ({}),
  ),
};

/** To `rpc.scheduler`: all nodes for operators, page by page. */
export const listNodesMethod: Method<ListNodesRequest, NodesResponse> = {
  request: codec(
    'berth.scheduler.v1.ListNodesRequest',
    wire.ListNodesRequest,
    (request) => request,
    (request) => ({
      host: hostNameOrEmpty(request.host, 'host'),
      marker: hostNameOrEmpty(request.marker, 'marker'),
      limit: pageLimit(request.limit, 'limit', MAX_PAGE, MAX_PAGE),
    }),
  ),
  response: nodesCodec('berth.scheduler.v1.ListNodesResponse', wire.ListNodesResponse),
};

/** To `agent.<service host>`: an operator's word about a node. */
export const operateNodeCodec: Codec<OperateNode> = codec(
  'berth.compute.v1.OperateNode',
  berth.compute.v1.OperateNode,
  ({ bootDevice, ...order }) => ({
    ...order,
    verb: VERBS.toWire(order.verb),
    bootDevice: bootDevice ? BOOT_DEVICES.toWire(bootDevice) : NO_DEVICE,
  }),
  ({ host, verb, reason, bootDevice, epoch, restsOnUpdatedAtMs }) => ({
    host: hostName(host, 'host'),
    verb: VERBS.fromWire(verb, 'verb'),
    reason: text(reason, 'reason'),
    bootDevice: bootDevice === NO_DEVICE ? undefined : BOOT_DEVICES.fromWire(bootDevice, 'boot_device'),
    epoch: whole(epoch, 'epoch'),
    restsOnUpdatedAtMs: whole(restsOnUpdatedAtMs, 'rests_on_updated_at_ms'),
  }),
);

function nodesCodec(type: string, message: typeof wire.ReadNodesResponse): Codec<NodesResponse> {
  return codec(
    type,
    message,
    ({ nodes }) => ({ nodes: nodes.map(nodeToWire) }),
    ({ nodes }) => ({
      nodes: list(nodes, 'nodes', MAX_HOSTS_PER_AGENT, (node, field) =>
        nodeFromWire(node as berth.scheduler.v1.Node, field),
      ),
    }),
  );
}

function nodeToWire({ stateBefore, lastOrder, ...node }: NodeView) {
  return {
    ...node,
    ...(lastOrder && { lastOrder: { ...lastOrder, outcome: OUTCOMES.toWire(lastOrder.outcome) } }),
    traits: node.traits as string[],
    state: STATES.toWire(node.state),
    stateBefore: stateBefore ? STATES.toWire(stateBefore) : NO_STATE,
    bootDevice: BOOT_DEVICES.toWire(node.bootDevice),
  };
}

function nodeFromWire(node: berth.scheduler.v1.Node, field: string): NodeView {
  const record: NodeRecord = {
    host: hostName(node.host, `${field}.host`),
    pool: requiredName(node.pool, `${field}.pool`),
    resourceClass: nodeClass(node.resourceClass, `${field}.resource_class`),
    traits: traits(node.traits, `${field}.traits`),
    state: STATES.fromWire(node.state, `${field}.state`),
    stateBefore: node.stateBefore === NO_STATE ? undefined : STATES.fromWire(node.stateBefore, `${field}.state_before`),
    reason: text(node.reason, `${field}.reason`),
    isOn: node.isOn,
    bootDevice: BOOT_DEVICES.fromWire(node.bootDevice, `${field}.boot_device`),
    instanceUuid: uuidOrEmpty(node.instanceUuid, `${field}.instance_uuid`),
    step: name(node.step, `${field}.step`),
    updatedAtMs: whole(node.updatedAtMs, `${field}.updated_at_ms`),
    lastOrder: node.lastOrder
      ? lastOrderFromWire(node.lastOrder as berth.scheduler.v1.LastOrder, `${field}.last_order`)
      : undefined,
    journal: text(node.journal, `${field}.journal`, MAX_NODE_JOURNAL_BYTES),
    systemId: name(node.systemId, `${field}.system_id`),
    health: text(node.health, `${field}.health`),
    contactedAtMs: whole(node.contactedAtMs, `${field}.contacted_at_ms`),
    tellsBoot: node.tellsBoot,
    systemLink: name(node.systemLink, `${field}.system_link`),
  };
  return node.serviceHost === ''
    ? record
    : { ...record, serviceHost: hostName(node.serviceHost, `${field}.service_host`) };
}

function lastOrderFromWire(order: berth.scheduler.v1.LastOrder, field: string): LastOrder {
  return {
    verb: word(order.verb, VERB_WORDS, `${field}.verb`),
    restsOnUpdatedAtMs: whole(order.restsOnUpdatedAtMs, `${field}.rests_on_updated_at_ms`),
    begunAtMs: whole(order.begunAtMs, `${field}.begun_at_ms`),
    outcome: OUTCOMES.fromWire(order.outcome, `${field}.outcome`),
    reason: name(order.reason, `${field}.reason`),
    message: text(order.message, `${field}.message`),
  };
}

/** Classes are created on first use: a node of a known agent brings one, and so its name is checked here. */
function nodeClass(value: string, field: string): string {
  if (value === '' || isNodeClass(value)) return value;
  throw invalidArgument('bad_class', `${field} must be CUSTOM_BAREMETAL_<CLASS>, not '${value.slice(0, 64)}'`, field);
}

/** To `rpc.conductor`: an instance that has a node by processors, memory and disk is to hold the node's class. */
export const healAllocationMethod: Method<HealAllocationRequest, HealAllocationResponse> = {
  request: codec(
    'berth.conductor.v1.HealAllocationRequest',
    berth.conductor.v1.HealAllocationRequest,
    (request) => request,
    ({ instanceUuid }) => ({ instanceUuid: uuid(instanceUuid, 'instance_uuid') }),
  ),
  response: codec(
    'berth.conductor.v1.HealAllocationResponse',
    berth.conductor.v1.HealAllocationResponse,
    (response) => response,
    ({ resourceClass, changed }) => ({ resourceClass: requiredName(resourceClass, 'resource_class'), changed }),
  ),
};
