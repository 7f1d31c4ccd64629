import type { Consumer } from '../../domain/consumer';
import type { Host } from '../../domain/host';
import type { Resources } from '../../domain/inventory';
import type { Provider } from '../../domain/provider';
import type { CommitResult } from '../store';

/** What the store keeps, table by table, each row under one key. */
export interface Tables {
  /** By uuid. The generation goes with the usage, because claims raise it. */
  readonly provider: StoredProvider;
  /** By provider uuid; one for every provider. */
  readonly usage: { readonly generation: number; readonly used: Resources };
  /** By name. */
  readonly host: Host;
  /** By uuid. */
  readonly consumer: StoredConsumer;
  /** Custom resource classes by name. */
  readonly resource_class: { readonly createdAtMs: number };
  /** Custom traits by name. */
  readonly trait: { readonly createdAtMs: number };
  /** Provider uuids by provider name. */
  readonly name: { readonly uuid: string };
  /** All providers of a tree by its root; a tree of one has no row. */
  readonly tree: { readonly members: readonly string[] };
  /** The last report of a host, by its name; written without a commit. */
  readonly sequence: { readonly agentRun: string; readonly sequence: number };
}

export type TableName = keyof Tables;

/** A provider with the name of the host whose root it is. */
export interface StoredProvider extends Omit<Provider, 'generation'> {
  readonly host: string | undefined;
}

/** A consumer with the host that its group membership counts for. */
export interface StoredConsumer extends Consumer {
  readonly groupHost: string | undefined;
}

/** What of a consumer no script looks at before it is given back. */
export type ConsumerRest = Omit<StoredConsumer, 'uuid' | 'generation' | 'claimRevision' | 'createdAtMs'>;

/** A row as read. Rows are never changed in place: each write makes a new one. */
export interface Stored<T> {
  readonly row: T;
  /** Of the commit that wrote it. */
  readonly revision: number;
}

/** Why nothing was committed. */
export type Refusal = Exclude<CommitResult, { kind: 'committed' }>;

/** Counters, each under a name: how many providers use a custom class or trait, how many members a group has (on a host). */
export const counters = {
  usersOf: (catalogue: 'resource_class' | 'trait', name: string) => `${catalogue} ${name}`,
  membersOf: (groupId: string) => `group ${groupId}`,
  membersOn: (groupId: string, host: string) => `group ${groupId}\n${host}`,
} as const;
