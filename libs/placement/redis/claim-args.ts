import { restOf } from '../commands/allocations';
import type { ConsumerGuard, ConsumerWrite, WriteAllocations } from '../store';

export type ClaimArgs = (string | number)[];

/** One commit as `lua/claim.lua` takes it. */
export function claimArgs({ consumers, force = false }: WriteAllocations, atMs: number): ClaimArgs {
  const args: ClaimArgs = [atMs, force ? '1' : '0', consumers.length];
  for (const write of consumers) pushConsumer(args, write, atMs);
  return args;
}

function pushConsumer(args: ClaimArgs, write: ConsumerWrite, atMs: number): void {
  const { allocations, group: membership } = write;
  const takes: ClaimArgs = [];
  for (const [providerUuid, resources] of Object.entries(allocations)) {
    for (const [resourceClass, amount] of Object.entries(resources)) takes.push(providerUuid, resourceClass, amount);
  }
  const group = membership?.group;
  const body = takes.length === 0 ? '' : JSON.stringify(restOf(write, atMs));
  args.push(write.uuid, write.expect.kind, expected(write.expect), body);
  args.push(group?.id ?? '', membership?.host ?? '', group?.policy ?? '', group?.maxPerHost ?? 0);
  args.push(write.raisesReleased ? '1' : '0', takes.length / 3, ...takes);
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
