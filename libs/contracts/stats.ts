import { berth } from '#generated/berth';
import { claimedAllocations } from './allocations';
import { device } from './devices';
import { anyMap, anyText, count, flag, list, listed, omittable, optional, orUndefined, unchecked } from './fields';
import { MAX_INSTANCES_PER_HOST, MAX_NESTED_PROVIDERS } from './limits';
import { message, type PlainOf } from './message';
import { MOST, ofAgents, WHOLE } from './message-rules';
import { inventoryFromWire } from './placement';
import { shutdownIfSaid } from './power';

const wire = berth.scheduler.v1;
type Texts = readonly string[];
type Amounts = Readonly<Record<string, number>>;

/** An agent's word on an instance. Only the shape is checked here. */
export const runningFields = {
  instanceUuid: anyText,
  projectId: anyText,
  userId: anyText,
  resources: unchecked<Amounts>(),
  name: anyText,
  groupId: anyText,
  requestId: anyText,
  running: flag,
  attempt: count,
  claimToken: count,
  allocationRequest: unchecked<Uint8Array>(),
  /** By provider; empty on a host without nested providers, where `resources` says all. */
  allocations: omittable(claimedAllocations),
  /** Running when not given. */
  powerState: shutdownIfSaid,
  /** It was handed over to another host, and is kept until that is confirmed or reverted. */
  handedOver: optional(flag),
  /** Its host can't read what it remembers of it. */
  unreadable: optional(flag),
};
const runningInstance = message(wire.RunningInstance, runningFields);
export type RunningInstance = PlainOf<typeof runningInstance>;

const inventories = anyMap({ fromWire: inventoryFromWire });

/** A provider below a host's root; `parent` is the name of another, '' for the root. */
const nestedProvider = message(wire.NestedProvider, {
  name: anyText,
  parent: anyText,
  inventories,
  traits: unchecked<Texts>(),
  externalUsage: unchecked<Amounts>(),
  device: optional(device),
});
export type NestedProvider = PlainOf<typeof nestedProvider>;

/** The disabling of a host by an operator, with its reason. */
const hostDisabled = message(wire.HostDisabled, { reason: anyText });
export type HostDisabled = PlainOf<typeof hostDisabled>;

/**
 * To `stats`: an agent's report of itself. Only the shape is checked here; whether the amounts, names and the sender are
 * right is for the scheduler, which answers with the field that is wrong.
 */
export const updateResourceStatsMethod = {
  request: message(
    wire.UpdateResourceStatsRequest,
    {
      host: anyText,
      agentRun: anyText,
      sequence: count,
      providerUuid: anyText,
      cell: anyText,
      inventories,
      traits: unchecked<Texts>(),
      capabilities: anyMap(listed((values) => values)),
      externalUsage: unchecked<Amounts>(),
      externalInstances: count,
      ioOps: count,
      instances: list(runningInstance, MAX_INSTANCES_PER_HOST),
      aggregates: orUndefined(listed((values) => values)),
      serviceHost: (value: string, _path: string, { host }: { readonly host: string }) => value || host,
      epoch: count,
      position: count,
      /** When the last answer was given, by the store's clock; 0 for none. */
      answeredAtMs: omittable(count),
      disabled: optional(hostDisabled),
      nestedProviders: list(nestedProvider, MAX_NESTED_PROVIDERS),
    },
    { rule: ofAgents(WHOLE, MOST) },
  ),
  response: message(wire.UpdateResourceStatsResponse, {
    sequence: count,
    wantsAllocationRequests: flag,
    /** By the store's clock; 0 from a scheduler of an older version. */
    atMs: omittable(count),
    disabled: optional(hostDisabled),
  }),
};
export type UpdateResourceStatsRequest = PlainOf<typeof updateResourceStatsMethod.request>;
export type UpdateResourceStatsResponse = PlainOf<typeof updateResourceStatsMethod.response>;
