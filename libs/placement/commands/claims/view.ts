import type { Consumer } from '../../../domain/consumer';
import type { StoredProvider, TableName, Tables } from '../tables';

/** The part of each table that a claim is decided on. */
export interface ClaimTables
  extends Pick<Tables, 'usage' | 'resource_class' | 'nomination' | 'cohort' | 'project_usage' | 'admission_turn'> {
  readonly consumer: Consumer;
  readonly provider: Pick<StoredProvider, 'inventories'>;
  readonly quota: Pick<Tables['quota'], 'limits' | 'borrowLimits' | 'lendLimits' | 'cohort'>;
}

/** A row with its revision. */
export interface Seen<T> {
  readonly row: T;
  readonly revision: number;
}

/**
 * The rows on which a claim is decided, synchronously: those of the store, those of a mirror, or either with what earlier
 * claims of a batch make of them. They may be out of date: the guards of the proposal find that.
 */
export interface ClaimView {
  get<T extends keyof ClaimTables & TableName>(table: T, key: string): Seen<ClaimTables[T]> | undefined;
  /** A counter. `group` is the key of the group whose members it counts. */
  count(name: string, group: string): number;
}
