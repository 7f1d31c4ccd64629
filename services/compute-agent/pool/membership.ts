import type { Bus } from '#libs/bus/port';
import { callMethod } from '#libs/bus/typed-calls';
import { joinPoolMethod, leavePoolMethod } from '#libs/contracts/pools';
import { STATS } from '#libs/contracts/queues';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { createRing, type Ring } from '#libs/ring/ring';
import { backoffMs } from '#libs/runtime/backoff';
import type { RuntimeDeps } from '#libs/runtime/service';
import { type AgentConfig, callOptions, leaseMsOf } from '../options';

export interface MembershipParts extends RuntimeDeps {
  readonly bus: Bus;
  readonly config: AgentConfig;
  readonly agentRun: string;
  /** The former run, which is dead; '' when unknown. */
  readonly formerRun: string;
  /** Called with the ring after each renewal, changed or not. */
  readonly onRing: (ring: Ring) => void;
}

/** A run's place in the ring of its pool. */
export interface Membership {
  /** Undefined until the first answer. */
  readonly ring: Ring | undefined;
  stop(): void;
  /** Gives the place up, so that the others need not wait for its lease. */
  leave(): Promise<void>;
}

/** Minimum of renewals per lease. */
const RENEWALS_PER_LEASE = 4;
/** After a renewal an agent requests nodes that others gave up: until then nobody has them. */
const MAX_RENEWAL_MS = 2_000;
const FIRST_PAUSE_MS = 100;

/**
 * Keeps a run a member of its pool. The members alone determine which nodes it is to hold (`createRing`), and every
 * member learns of a change at its next renewal. The ring is advice: the holder of a node follows from its own lease
 * and epoch, so that members with different rings do no harm.
 */
export function keepMembership(parts: MembershipParts): Membership {
  const { bus, config, clock, log, random, agentRun, formerRun } = parts;
  const { host: serviceHost, pool, weight } = config;
  const leaseMs = leaseMsOf(config);
  const renewalMs = Math.min(MAX_RENEWAL_MS, leaseMs / RENEWALS_PER_LEASE);
  const stopping = new AbortController();
  const options = callOptions(config);
  let ring: Ring | undefined;
  let epoch = 0;
  let failures = 0;

  async function keep(): Promise<void> {
    while (!stopping.signal.aborted) await sleep(clock, await renew(), stopping.signal);
  }

  /** Resolves to the pause until the next. */
  async function renew(): Promise<number> {
    try {
      const request = { serviceHost, agentRun, formerRun, pool, weight, leaseMs };
      const answer = await callMethod({ bus, queue: STATS }, joinPoolMethod, request, options);
      failures = 0;
      if (stopping.signal.aborted) return 0;
      if (answer.epoch === 0) {
        const fields = { event: 'member_taken', service_host: serviceHost, holder_run: answer.holderRun };
        log.error(fields, 'another run of this agent is a member of the pool: waiting');
        return Math.max(FIRST_PAUSE_MS, answer.heldForMs);
      }
      if (answer.epoch !== epoch) {
        const members = answer.members.map((member) => member.serviceHost);
        log.info({ event: 'ring_changed', pool, epoch: answer.epoch, members }, 'the members of the pool changed');
        epoch = answer.epoch;
        ring = createRing(answer.members.map((member) => ({ name: member.serviceHost, weight: member.weight })));
      }
      if (ring) parts.onRing(ring);
      return renewalMs;
    } catch (thrown) {
      failures += 1;
      const error = BerthError.from(thrown);
      if (failures === 1)
        log.warn({ event: 'membership_not_renewed', pool, error }, 'pool membership not renewed, retrying');
      return backoffMs(failures, { firstMs: FIRST_PAUSE_MS, maxMs: renewalMs }, random);
    }
  }

  void keep();
  return {
    get ring() {
      return ring;
    },
    stop: () => stopping.abort(),
    async leave() {
      await callMethod({ bus, queue: STATS }, leavePoolMethod, { serviceHost, agentRun, pool }, options).catch(
        (error: unknown) =>
          log.warn(
            { event: 'pool_not_left', pool, error },
            'pool not left: other members wait until this lease expires',
          ),
      );
    },
  };
}
