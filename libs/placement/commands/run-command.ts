import type { Command, WriteAllocations } from '../store';
import { writeCatalogue } from './catalogue';
import { checkedWrites } from './checked-writes';
import { recordFailure, setHostEnabled, sweepHosts } from './hosts';
import { writeInventories } from './inventories';
import { writeAggregates, writeTraits } from './labels';
import { deleteProvider, putProvider } from './providers';
import { reportHost } from './report-host';
import { reshape } from './reshape';
import type { Refusal } from './tables';
import type { Transaction } from './transaction';

/** Every command but those on allocations, which each adapter does in one step of its own. */
export type TransactionCommand = Exclude<Command, { kind: 'write_allocations' | 'release_claim' }>;
export type AllocationCommand = Extract<Command, { kind: 'write_allocations' | 'release_claim' }>;

/** Decides a command: why it is refused, or undefined when the transaction has the writes to commit. */
export function runCommand(tx: Transaction, command: TransactionCommand): Promise<Refusal | undefined> {
  switch (command.kind) {
    case 'put_provider':
      return putProvider(tx, command);
    case 'delete_provider':
      return deleteProvider(tx, command);
    case 'write_inventories':
      return writeInventories(tx, command);
    case 'write_traits':
      return writeTraits(tx, command);
    case 'write_aggregates':
      return writeAggregates(tx, command);
    case 'reshape':
      return reshape(tx, command);
    case 'create_name':
    case 'delete_name':
    case 'rename_class':
      return writeCatalogue(tx, command);
    case 'report_host':
      return reportHost(tx, command);
    case 'set_host_enabled':
      return setHostEnabled(tx, command);
    case 'record_failure':
      return recordFailure(tx, command);
    case 'sweep_hosts':
      return sweepHosts(tx, command);
  }
}

export function isAllocationCommand(command: Command): command is AllocationCommand {
  return command.kind === 'write_allocations' || command.kind === 'release_claim';
}

/** A release as the write it is: nothing instead of what the consumer holds, if it still holds that claim. */
export function asWrite(command: AllocationCommand): WriteAllocations {
  if (command.kind === 'write_allocations') return { ...command, consumers: checkedWrites(command.consumers) };
  const { consumerUuid: uuid, claimRevision } = command;
  const nobody = { projectId: '', userId: '', consumerType: undefined, owner: 'conductor' } as const;
  const expect = { kind: 'claim', claimRevision } as const;
  return { kind: 'write_allocations', consumers: [{ uuid, ...nobody, allocations: {}, mappings: {}, expect }] };
}

/** What a release answers: who shows an old token has nothing to give back. */
export function asReleased(command: AllocationCommand, refusal: Refusal): Refusal {
  return command.kind === 'release_claim' && refusal.kind === 'generation' ? { kind: 'unchanged' } : refusal;
}
