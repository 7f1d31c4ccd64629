import type { Command, RefusedCommit } from '../port/placement-store';
import type { AllocationCommand } from './allocation-command';
import { writeCatalogue } from './catalogue';
import { recordFailure, setHostEnabled, sweepHosts } from './hosts';
import { writeAggregates, writeInventories, writeTraits } from './provider-attributes';
import { deleteProvider, putProvider } from './providers';
import { reshape } from './reshape';
import type { Transaction } from './transaction';

/** Every command but those on allocations, which each adapter does in one step of its own. */
export type TransactionCommand = Exclude<Command, AllocationCommand>;

/** Decides a command: why it is refused, or undefined when the transaction has the writes to commit. */
export function runCommand(tx: Transaction, command: TransactionCommand): Promise<RefusedCommit | undefined> {
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
    case 'set_host_enabled':
      return setHostEnabled(tx, command);
    case 'record_failure':
      return recordFailure(tx, command);
    case 'sweep_hosts':
      return sweepHosts(tx, command);
  }
}
