import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import { hostName, list, missing, name, requiredName, requiredServiceHost, whole } from './checks';
import { codec, type Method } from './codec';
import { MAX_NAMES } from './limits';
import type { JoinPoolRequest, JoinPoolResponse, LeavePoolRequest, PoolMember } from './messages';

const wire = berth.scheduler.v1;
/** Points of the ring are so many for each 1 of it. */
const MAX_WEIGHT = 100;

/** To `stats`: a run of an agent wants to be a member of a pool, or stay one. */
export const joinPoolMethod: Method<JoinPoolRequest, JoinPoolResponse> = {
  request: codec(
    'berth.scheduler.v1.JoinPoolRequest',
    wire.JoinPoolRequest,
    (request) => request,
    (request) => ({
      ...memberFromWire(request),
      weight: weightOf(request.weight, 'weight'),
      leaseMs: leaseLength(request.leaseMs),
      formerRun: name(request.formerRun, 'former_run'),
    }),
  ),
  response: codec(
    'berth.scheduler.v1.JoinPoolResponse',
    wire.JoinPoolResponse,
    (response) => ({ ...response, members: response.members as PoolMember[] }),
    (response) => ({
      epoch: whole(response.epoch, 'epoch'),
      members: list(response.members, 'members', MAX_NAMES, (member, field) => {
        const { serviceHost, agentRun, weight } = member as berth.scheduler.v1.PoolMember;
        return {
          serviceHost: hostName(serviceHost, `${field}.service_host`),
          agentRun: requiredName(agentRun, `${field}.agent_run`),
          weight: weightOf(weight, `${field}.weight`),
        };
      }),
      holderRun: name(response.holderRun, 'holder_run'),
      heldForMs: whole(response.heldForMs, 'held_for_ms'),
    }),
  ),
};

/** To `stats`: a run that ends gives its nodes to the others. */
export const leavePoolMethod: Method<LeavePoolRequest, Record<string, never>> = {
  request: codec('berth.scheduler.v1.LeavePoolRequest', wire.LeavePoolRequest, (request) => request, memberFromWire),
  response: codec(
    'berth.scheduler.v1.LeavePoolResponse',
    wire.LeavePoolResponse,
    () => ({}),
    () => ({}),
  ),
};

function memberFromWire(request: { serviceHost: string; agentRun: string; pool: string }): LeavePoolRequest {
  return {
    serviceHost: requiredServiceHost(request.serviceHost, 'service_host'),
    agentRun: requiredName(request.agentRun, 'agent_run'),
    pool: hostName(request.pool, 'pool'),
  };
}

function weightOf(value: number, field: string): number {
  if (value > 0 && value <= MAX_WEIGHT) return value;
  throw invalidArgument('bad_number', `${field} must be above 0 and at most ${MAX_WEIGHT}, not ${value}`, field);
}

function leaseLength(value: number): number {
  if (value === 0) throw missing('lease_ms');
  return whole(value, 'lease_ms');
}
