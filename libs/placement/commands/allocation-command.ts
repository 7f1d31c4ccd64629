import { INSTANCE_CONSUMER } from '../../domain/consumer';
import { invalidArgument } from '../../domain/errors';
import { MAX_AMOUNT } from '../../domain/inventory';
import type { Command, ConsumerWrite, RefusedCommit, WriteAllocations } from '../port/placement-store';
import type { ClaimTerms } from './claims/draft';

/** The commands on allocations: the contended ones. */
export type AllocationCommand = Extract<Command, { kind: 'write_allocations' | 'release_claim' }>;

/** True for commands on allocations. */
export function isAllocationCommand(command: Command): command is AllocationCommand {
  return command.kind === 'write_allocations' || command.kind === 'release_claim';
}

/** A release as the write it is: nothing instead of what the consumer holds, if it still holds that claim. */
export function asWrite(command: AllocationCommand): WriteAllocations {
  if (command.kind === 'write_allocations') return { ...command, consumers: checkedWrites(command.consumers) };
  const { consumerUuid: uuid, claimToken, consumerType = INSTANCE_CONSUMER, projectId = '' } = command;
  const whose = { projectId, userId: '', consumerType, owner: 'conductor' } as const;
  const expect = { kind: 'claim', claimToken } as const;
  return { kind: 'write_allocations', consumers: [{ uuid, ...whose, allocations: {}, mappings: {}, expect }] };
}

/** The terms of a write. */
export function termsOf(write: WriteAllocations, atMs: number): ClaimTerms {
  const { force = false, withinTotal = false, withinQuota = false, besides, admissionTurn } = write;
  return { atMs, force, withinTotal, withinQuota, besides, admissionTurn };
}

/** The answer to a refused command: releasing a superseded claim, or what another owner holds by now, is a no-op. */
export function asReleased(command: AllocationCommand, refusal: RefusedCommit): RefusedCommit {
  const isSuperseded = refusal.kind === 'generation' || refusal.kind === 'owner';
  return command.kind === 'release_claim' && isSuperseded ? { kind: 'unchanged' } : refusal;
}

/**
 * Writes that make sense whatever the state: each consumer once, whole positive amounts. Providers of which nothing is
 * taken are left out.
 *
 * @throws BerthError `invalid_argument / duplicate_consumer`, `invalid_argument / malformed_amount`.
 */
export function checkedWrites(writes: readonly ConsumerWrite[]): readonly ConsumerWrite[] {
  if (new Set(writes.map((write) => write.uuid)).size !== writes.length) {
    throw invalidArgument('duplicate_consumer', 'a consumer stands twice in one command', 'consumers');
  }
  return writes.map((write) => (Object.values(write.allocations).every(isWellFormed) ? write : withoutEmpty(write)));
}

function withoutEmpty(write: ConsumerWrite): ConsumerWrite {
  const taken = Object.entries(write.allocations).filter(([, resources]) => Object.keys(resources).length > 0);
  return { ...write, allocations: Object.fromEntries(taken) };
}

function isWellFormed(resources: Readonly<Record<string, number>>): boolean {
  const amounts = Object.values(resources);
  const wrong = amounts.find((amount) => !Number.isInteger(amount) || amount < 1 || amount > MAX_AMOUNT);
  if (wrong === undefined) return amounts.length > 0;
  throw invalidArgument('malformed_amount', `an amount must be from 1 to ${MAX_AMOUNT}, not ${wrong}`, 'allocations');
}
