import { isEmpty, restOf } from '../commands/allocations';
import type { ConsumerRest } from '../commands/tables';
import type { ConsumerGuard, ConsumerWrite, WriteAllocations } from '../store';
import { encodeRest } from './cells';

export type ClaimArgs = (string | number)[];

/** What a process wrote of a consumer: it need not be read out of the answer. */
export interface KnownConsumer {
  readonly uuid: string;
  readonly rest: ConsumerRest;
}

/** By uuid. */
export type KnownConsumers = Map<string, KnownConsumer>;

/**
 * Adds one commit as `lua/claim.lua` takes it, and to `known` what it writes of its consumers. Few arguments with several
 * words each: a client and a server spend more on an argument than on a word.
 */
export function pushCommit(
  args: ClaimArgs,
  { consumers, force = false }: WriteAllocations,
  atMs: number,
  known: KnownConsumers,
): void {
  args.push(`${atMs} ${force ? 1 : 0} ${consumers.length}`);
  for (const write of consumers) pushConsumer(args, write, atMs, known);
}

function pushConsumer(args: ClaimArgs, write: ConsumerWrite, atMs: number, known: KnownConsumers): void {
  const { uuid, expect, group: membership, raisesReleased = false } = write;
  const rest = restOf(write, atMs);
  known.set(uuid, { uuid, rest });
  args.push(uuid, `${expect.kind} ${expected(expect)} ${raisesReleased ? 1 : 0}`);
  if (isEmpty(write)) args.push('', '');
  else args.push(encodeRest(rest), membership ? membershipOf(membership) : '');
}

function expected(guard: ConsumerGuard): string | number {
  switch (guard.kind) {
    case 'any':
    case 'absent':
      return '';
    case 'generation':
      return guard.generation;
    case 'claim':
      return guard.claimRevision;
  }
}

/** The names are given by clients, who may put spaces in them. */
function membershipOf({ group, host }: NonNullable<ConsumerWrite['group']>): string {
  return `${group.policy} ${group.maxPerHost} ${host}\n${group.id}`;
}
