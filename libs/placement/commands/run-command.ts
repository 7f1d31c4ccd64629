import type { Command } from '../port/placement-store';
import { changeMembership, createAggregate, deleteAggregate, updateAggregate } from './aggregates';
import type { AllocationCommand } from './allocation-command';
import { createName, deleteName, renameClass } from './catalogue';
import { createGroup, deleteGroup } from './groups';
import { clearFailures, noteDead, noteHeard, recordFailure, setHostEnabled, sweepHosts, taintDevice } from './hosts';
import { endLeases, writeLease } from './leases';
import { deleteGuarantee, takeAdmissionTurn, writeGuarantee } from './limits/guarantees';
import { writeQuota } from './limits/quotas';
import { deleteReservation, writeReservation } from './limits/reservations';
import { settleProject } from './project-usage';
import { raiseGenerations, writeAggregates, writeInventories, writeTraits } from './provider-attributes';
import { deleteHostTree, deleteProvider, putProvider } from './providers';
import { reshape } from './reshape';
import type { Decided, Transaction } from './transaction';
import { foldUsage } from './usage/fold-usage';
import { noteRecentUse } from './usage/note-recent-use';

/** Every command but those on allocations, which each adapter does in one step of its own. */
export type TransactionCommand = Exclude<Command, AllocationCommand>;

/** Decides a command. */
export function runCommand(tx: Transaction, command: TransactionCommand): Decided {
  const decide = DECIDERS[command.kind] as (tx: Transaction, command: TransactionCommand) => Decided;
  return decide(tx, command);
}

const DECIDERS: {
  readonly [K in TransactionCommand['kind']]: (
    tx: Transaction,
    command: Extract<TransactionCommand, { kind: K }>,
  ) => Decided;
} = {
  put_provider: putProvider,
  delete_provider: deleteProvider,
  delete_host: deleteHostTree,
  write_inventories: writeInventories,
  write_traits: writeTraits,
  write_aggregates: writeAggregates,
  reshape,
  raise_generations: raiseGenerations,
  create_name: createName,
  delete_name: deleteName,
  rename_class: renameClass,
  set_host_enabled: setHostEnabled,
  taint_device: taintDevice,
  record_failure: recordFailure,
  clear_failures: clearFailures,
  note_heard: noteHeard,
  note_dead: noteDead,
  sweep_hosts: sweepHosts,
  create_aggregate: createAggregate,
  update_aggregate: updateAggregate,
  delete_aggregate: deleteAggregate,
  add_aggregate_host: changeMembership,
  remove_aggregate_host: changeMembership,
  create_group: createGroup,
  delete_group: deleteGroup,
  write_quota: writeQuota,
  settle_project: settleProject,
  fold_usage: foldUsage,
  note_recent_use: noteRecentUse,
  write_lease: writeLease,
  end_leases: endLeases,
  write_guarantee: writeGuarantee,
  delete_guarantee: deleteGuarantee,
  take_admission_turn: takeAdmissionTurn,
  go_on: goOn,
  write_reservation: writeReservation,
  delete_reservation: deleteReservation,
};

/** Changes no row: a commit is all that tells until when the server before may have lost writes. */
async function goOn(tx: Transaction): Promise<undefined> {
  tx.write({ kind: 'show', key: '' });
}
