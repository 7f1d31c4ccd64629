import type { Resources } from '../../domain/inventory';
import { isEmpty, restOf } from '../commands/allocations';
import type { ConsumerRest } from '../commands/tables';
import type { ConsumerGuard, ConsumerWrite, WriteAllocations } from '../store';

export type ClaimArgs = (string | number)[];

/** What a process wrote of a consumer: it need not be read out of the answer. */
export interface KnownConsumer {
  readonly uuid: string;
  readonly rest: ConsumerRest;
}

/** By uuid. */
export type KnownConsumers = Map<string, KnownConsumer>;

/** Adds one commit as `lua/claim.lua` takes it, and to `known` what it writes of its consumers. */
export function pushCommit(
  args: ClaimArgs,
  { consumers, force = false }: WriteAllocations,
  atMs: number,
  known: KnownConsumers,
): void {
  args.push(atMs, force ? '1' : '0', consumers.length);
  for (const write of consumers) pushConsumer(args, write, atMs, known);
}

function pushConsumer(args: ClaimArgs, write: ConsumerWrite, atMs: number, known: KnownConsumers): void {
  const { allocations, group: membership } = write;
  const rest = restOf(write, atMs);
  known.set(write.uuid, { uuid: write.uuid, rest });
  const group = membership?.group;
  args.push(write.uuid, write.expect.kind, expected(write.expect), isEmpty(write) ? '' : JSON.stringify(rest));
  args.push(group?.id ?? '', membership?.host ?? '', group?.policy ?? '', group?.maxPerHost ?? 0);
  const countAt = args.push(write.raisesReleased ? '1' : '0', 0) - 1;
  for (const providerUuid in allocations) {
    const resources = allocations[providerUuid] as Resources;
    for (const resourceClass in resources) args.push(providerUuid, resourceClass, resources[resourceClass] as number);
  }
  args[countAt] = (args.length - countAt - 1) / 3;
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
