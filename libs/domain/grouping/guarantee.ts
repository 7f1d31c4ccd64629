import { ZONE_KEY } from './aggregate';

/** An operator's standing demand: what may be lost at any time, with a place elsewhere for every instance that it would take. */
export interface Guarantee {
  /** Unique in the cell. */
  readonly name: string;
  /** Kind of the lost domains: `host`, `zone`, `rack`, or another metadata name of host aggregates. */
  readonly lose: string;
  /** So many of them at once. */
  readonly count: number;
  /** Only hosts of the aggregate with this name are lost, and their instances guaranteed; '' for all. */
  readonly aggregate: string;
  /** Instances of lower priorities are not guaranteed. */
  readonly minPriority: number;
  readonly policy: GuaranteePolicy;
  readonly updatedAtMs: number;
}

/**
 * The turn to admit under guarantees: one scheduler of a cell has it at a time, and its claims are refused once another has taken it. So
 * each claim is admitted on witnesses that know all claims admitted before.
 */
export interface AdmissionTurn {
  /** Run of the scheduler that has it. */
  readonly by: string;
  readonly takenAtMs: number;
  /** Time for which nobody takes it away. */
  readonly holdMs: number;
}

/** Requests that would leave an instance without a place: refused, or placed all the same and counted. */
export type GuaranteePolicy = 'refuse' | 'flag';
export const GUARANTEE_POLICIES: readonly GuaranteePolicy[] = ['refuse', 'flag'];

/** In a cell: each costs every claim. */
export const MAX_GUARANTEES = 16;
/** Lost at once. */
export const MAX_LOST_AT_ONCE = 4;

/** Each host is a domain of its own. */
export const LOSE_HOST = 'host';

/** The metadata name by which aggregates divide hosts into what is lost together; undefined where each host is by itself. */
export function domainKeyOf(lose: string): string | undefined {
  return lose === LOSE_HOST ? undefined : lose === 'zone' ? ZONE_KEY : lose;
}

/** `1 rack`, `2 hosts`. */
export function lossText({ lose, count }: Pick<Guarantee, 'lose' | 'count'>): string {
  return `${count} ${lose}${count === 1 ? '' : 's'}`;
}
