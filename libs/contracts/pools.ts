import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import { hostName, name, requiredName, requiredServiceHost, whole } from './checks';
import { ruled } from './field-rules';
import { list } from './fields';
import { leaseMs } from './host-leases';
import { MAX_NAMES } from './limits';
import { message, type PlainOf } from './message';
import { FEW, KIB, ofAgents } from './message-rules';

const wire = berth.scheduler.v1;
/** Points of the ring are so many for each 1 of it. */
const MAX_WEIGHT = 100;

const weight = ruled({ gt: 0, lte: MAX_WEIGHT }, (value: number, path: string): number => {
  if (value > 0 && value <= MAX_WEIGHT) return value;
  throw invalidArgument('bad_number', `${path} must be above 0 and at most ${MAX_WEIGHT}, not ${value}`, path);
});

const aboutMember = { serviceHost: requiredServiceHost, agentRun: requiredName, pool: hostName };

const poolMember = message(wire.PoolMember, { serviceHost: hostName, agentRun: requiredName, weight });
export type PoolMember = PlainOf<typeof poolMember>;

/** To `stats`: a run of an agent wants to be a member of a pool, or stay one. */
export const joinPoolMethod = {
  request: message(
    wire.JoinPoolRequest,
    { ...aboutMember, weight, leaseMs, formerRun: name },
    { rule: ofAgents(16 * KIB, FEW) },
  ),
  /** Epoch 0: another run of the service host is a member. */
  response: message(wire.JoinPoolResponse, {
    epoch: whole,
    members: list(poolMember, MAX_NAMES),
    holderRun: name,
    heldForMs: whole,
  }),
};
export type JoinPoolRequest = PlainOf<typeof joinPoolMethod.request>;
export type JoinPoolResponse = PlainOf<typeof joinPoolMethod.response>;

/** To `stats`: a run that ends gives its nodes to the others. */
export const leavePoolMethod = {
  request: message(wire.LeavePoolRequest, aboutMember, { rule: ofAgents(16 * KIB, FEW) }),
  response: message(wire.LeavePoolResponse, {}),
};
export type LeavePoolRequest = PlainOf<typeof leavePoolMethod.request>;
