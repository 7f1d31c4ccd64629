import { berth } from '#generated/berth';
import { MAX_AMOUNT } from '../domain/inventory';
import { claimedAllocations } from './allocations';
import {
  hostName,
  name,
  projectId,
  requiredName,
  requiredServiceHost,
  text,
  traits,
  uuid,
  uuidOrEmpty,
  uuids,
} from './checks';
import { device } from './devices';
import { asItIs, type Conversion } from './field';
import { type FieldRules, ruled, rulesOf, unrequired } from './field-rules';
import { anyMap, checkedLater, count, flag, list, listed, omittable, optional, orUndefined } from './fields';
import { MAX_INSTANCES_PER_HOST, MAX_NAMES, MAX_NESTED_PROVIDERS, MAX_RESOURCE_CLASSES } from './limits';
import { message, type PlainOf } from './message';
import { MOST, ofAgents, WHOLE } from './message-rules';
import { inventoryFromWire } from './placement';
import { shutdownIfSaid } from './power';
import { sealedRequest } from './selection';

const wire = berth.scheduler.v1;
type Amounts = Readonly<Record<string, number>>;

/** Amounts that may be 0; the scheduler looks at each. */
const reportedAmounts: Conversion<Amounts, Amounts> = ruled(
  {
    maxPairs: MAX_RESOURCE_CLASSES,
    keys: { required: true, format: 'class_or_trait' },
    values: { gte: 0, lte: MAX_AMOUNT },
  },
  { fromWire: asItIs<Amounts> },
);
const nestedName: Conversion<string, string> = ruled(
  { required: true, format: 'nested_provider_name' },
  { fromWire: asItIs<string> },
);

/** An agent's word on an instance. Only the shape is checked here. */
export const runningFields = {
  instanceUuid: checkedLater(uuid),
  projectId: checkedLater(projectId),
  userId: checkedLater(name),
  resources: reportedAmounts,
  name: checkedLater(name),
  groupId: checkedLater(name),
  requestId: checkedLater(uuidOrEmpty),
  running: flag,
  attempt: count,
  claimToken: count,
  allocationRequest: checkedLater(sealedRequest),
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

const inventories = ruled(
  { maxPairs: MAX_RESOURCE_CLASSES, keys: { required: true, format: 'class_or_trait' } },
  anyMap({ fromWire: inventoryFromWire }),
);

/** A provider below a host's root; `parent` is the name of another, '' for the root. */
const nestedProvider = message(wire.NestedProvider, {
  name: nestedName,
  parent: ruled(unrequired(nestedName), { fromWire: asItIs<string> }),
  inventories,
  traits: checkedLater(traits),
  externalUsage: reportedAmounts,
  device: optional(device),
});
export type NestedProvider = PlainOf<typeof nestedProvider>;

const capabilityRules: FieldRules = {
  maxPairs: MAX_NAMES,
  keys: rulesOf(requiredName) ?? {},
  values: { maxItems: MAX_NAMES, items: rulesOf(requiredName) ?? {} },
};

/** The disabling of a host by an operator, with its reason. */
const hostDisabled = message(wire.HostDisabled, { reason: checkedLater(text) });
export type HostDisabled = PlainOf<typeof hostDisabled>;

/**
 * To `stats`: an agent's report of itself. Only the shape is checked here; whether the amounts, names and the sender are
 * right is for the scheduler, which answers with the field that is wrong.
 */
export const updateResourceStatsMethod = {
  request: message(
    wire.UpdateResourceStatsRequest,
    {
      host: checkedLater(hostName),
      agentRun: checkedLater(requiredName),
      sequence: count,
      providerUuid: checkedLater(uuid),
      cell: checkedLater(requiredName),
      inventories,
      traits: checkedLater(traits),
      capabilities: ruled(capabilityRules, anyMap(listed((values) => values))),
      externalUsage: reportedAmounts,
      externalInstances: count,
      ioOps: count,
      instances: list(runningInstance, MAX_INSTANCES_PER_HOST),
      aggregates: ruled(rulesOf(uuids) ?? {}, orUndefined(listed((values) => values))),
      serviceHost: ruled(
        unrequired(requiredServiceHost),
        (value: string, _path: string, of: { readonly host: string }) => value || of.host,
      ),
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
