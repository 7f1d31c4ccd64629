import type { ConsumerGuard, ConsumerWrite } from '../store';
import { encodeConsumerRest } from './cells';

/** A write of allocations as `lua/claim.lua` takes it, after the stream's length. */
export function claimArgs(writes: readonly ConsumerWrite[], atMs: number, force: boolean): (string | number)[] {
  const args: (string | number)[] = [atMs, force ? '1' : '0', writes.length];
  for (const write of writes) pushConsumer(args, write, atMs);
  return args;
}

function pushConsumer(args: (string | number)[], write: ConsumerWrite, atMs: number): void {
  const { allocations, group: membership } = write;
  const takes: (string | number)[] = [];
  for (const [providerUuid, resources] of Object.entries(allocations)) {
    for (const [resourceClass, amount] of Object.entries(resources)) takes.push(providerUuid, resourceClass, amount);
  }
  const group = membership?.group;
  const rest = { groupId: group?.id, groupHost: membership?.host, updatedAtMs: atMs };
  const body = takes.length === 0 ? '' : encodeConsumerRest({ ...write, ...rest });
  args.push(write.uuid, write.expect.kind, expected(write.expect), body);
  args.push(group?.id ?? '', membership?.host ?? '', group?.policy ?? '', group?.maxPerHost ?? 0);
  args.push(takes.length / 3, ...takes);
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
