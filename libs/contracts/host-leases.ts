import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import { hostName, hostNameOrEmpty, name, requiredName, requiredServiceHost, requiredWhole, whole } from './checks';
import { ruled } from './field-rules';
import { list, omittable } from './fields';
import { MAX_HOSTS_PER_AGENT, MAX_LEASE_MS } from './limits';
import { message, type PlainOf } from './message';
import { FEW, ofAgents, WHOLE } from './message-rules';

const wire = berth.scheduler.v1;

const aboutHolder = {
  serviceHost: requiredServiceHost,
  agentRun: requiredName,
  hosts: list(hostName, MAX_HOSTS_PER_AGENT),
};

/** Length of a lease: a whole number of milliseconds up to MAX_LEASE_MS. */
export const leaseMs = ruled({ required: true, lte: MAX_LEASE_MS }, (value: number, path: string): number => {
  if (requiredWhole(value, path) <= MAX_LEASE_MS) return value;
  throw invalidArgument('bad_number', `${path} must be at most ${MAX_LEASE_MS}, not ${value}`, path);
});

/** Epoch 0: another run holds the host. */
const hostGrant = message(wire.HostGrant, {
  epoch: whole,
  holderRun: name,
  holderServiceHost: hostNameOrEmpty,
  heldForMs: whole,
});
export type HostGrant = PlainOf<typeof hostGrant>;

/**
 * To `stats`: a run of an agent wants to be the holder of its hosts, each of which has one. To `host.leases`: it wants to
 * stay the holder of those that it holds.
 */
export const acquireHostsMethod = {
  request: message(
    wire.AcquireHostsRequest,
    {
      ...aboutHolder,
      leaseMs,
      formerRun: name,
      /** '' where the hosts are no nodes of a pool. */
      pool: omittable(name),
    },
    { rule: ofAgents(WHOLE, FEW) },
  ),
  response: message(wire.AcquireHostsResponse, {
    grants: list(hostGrant, MAX_HOSTS_PER_AGENT),
    /** By the store's clock; 0 from a scheduler of an older version. */
    atMs: whole,
  }),
};
export type AcquireHostsRequest = PlainOf<typeof acquireHostsMethod.request>;
export type AcquireHostsResponse = PlainOf<typeof acquireHostsMethod.response>;

/** To `stats`: a run that ends gives its hosts back. */
export const releaseHostsMethod = {
  request: message(wire.ReleaseHostsRequest, aboutHolder, { rule: ofAgents(WHOLE, FEW) }),
  response: message(wire.ReleaseHostsResponse, {}),
};
export type ReleaseHostsRequest = PlainOf<typeof releaseHostsMethod.request>;
