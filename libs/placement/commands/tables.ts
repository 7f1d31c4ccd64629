import type { Consumer } from '../../domain/consumer';
import type { Aggregate } from '../../domain/grouping/aggregate';
import type { AdmissionTurn, Guarantee } from '../../domain/grouping/guarantee';
import type { Host } from '../../domain/host';
import type { Resources } from '../../domain/inventory';
import type { Provider } from '../../domain/provider';
import type { PlaceLease } from '../../domain/queueing/place-lease';
import type { Reservation, ReservedRoom } from '../../domain/queueing/reservation';
import type { ProjectQuota, Quota } from '../../domain/quotas/quota';
import type { RecentUse } from '../../domain/quotas/recent-use';
import type { GroupDomain, StoredGroup } from '../../domain/server-group';
import type {
  CatalogueName,
  HostHolder,
  ProjectUsage,
  ReportedProvider,
  Revised,
  Rows,
  Usage,
  UsageParts,
} from '../port/placement-store';
import { daysOf, heldOf, type StoredUsage } from './claims/use-over-time';

/** The store's tables, each row under one key. */
export interface Tables {
  /** By uuid. The generation goes with the usage, because claims raise it. */
  readonly provider: StoredProvider;
  /** By provider uuid; one for every provider. */
  readonly usage: { readonly generation: number; readonly used: Resources };
  /** By name. */
  readonly host: Host;
  /** By uuid. */
  readonly consumer: Consumer;
  /** Custom resource classes by name. */
  readonly resource_class: StoredName;
  /** Custom traits by name. */
  readonly trait: StoredName;
  /** Host aggregates by uuid. */
  readonly aggregate: Aggregate;
  /** Server groups that stand by themselves, by `groupKey`. */
  readonly server_group: StoredGroup;
  /** Provider uuids by provider name. */
  readonly name: { readonly uuid: string };
  /** All providers of a tree by its root; a tree of one has no row. */
  readonly tree: { readonly members: readonly string[] };
  /** The last report of a host, by its name; written without a commit. */
  readonly sequence: LastReport;
  /** The holder of a host, by its name, whether or not it has reported; its revision is the epoch. */
  readonly holder: StoredHolder;
  /** By project key. */
  readonly quota: Quota & Pick<ProjectQuota, 'updatedAtMs'>;
  /** Project keys of the members of a cohort, by its name, encoded as a project key. */
  readonly cohort: { readonly members: readonly string[] };
  /** Usage of a project, by its key, and the time over which it held today's. */
  readonly project_usage: StoredUsage;
  /** The days before, by project key. */
  readonly project_days: { readonly days: ProjectUsage['days'] };
  /** The part of it that is known by user and flavor, of consumers that hold it no more and have no record left. */
  readonly usage_parts: { readonly days: UsageParts };
  /** A sample of what a project held lately, by project key; written without a commit. */
  readonly recent_use: Omit<RecentUse, 'projectId'>;
  /** By instance. */
  readonly lease: PlaceLease;
  /** By provider uuid: what is kept there for others, nominated or reserved; none where nothing is. */
  readonly nomination: KeptRoom;
  /** By name. */
  readonly guarantee: Guarantee;
  /** By name. */
  readonly reservation: Reservation;
  /** Under `ADMISSION_TURN`. */
  readonly admission_turn: AdmissionTurn;
}

/** The key of the only turn to admit. */
export const ADMISSION_TURN = 'guarantees';

/** A name of the catalogue, and the agent whose report brought it, which has a share of the catalogue. */
export interface StoredName {
  readonly createdAtMs: number;
  readonly by?: string;
}

export type TableName = keyof Tables;

/**
 * Amounts of a provider nominated to instances for which others are preempted, by instance; and those that reservations have there,
 * by `reservedKey`. A process of an older version takes the latter for nominations of no priority, which keep nothing.
 */
export type KeptRoom = Readonly<Record<string, NominatedAmounts | ReservedRoom>>;

/** The key of a reservation among what is kept on a provider: no instance's. */
export function reservedKey(name: string): string {
  return `reservation ${name}`;
}

/** True for a part of a reservation. */
export function isReservedRoom(kept: NominatedAmounts | ReservedRoom): kept is ReservedRoom {
  return 'reservation' in kept;
}

export interface NominatedAmounts {
  readonly priority: number;
  readonly untilMs: number;
  readonly resources: Resources;
}

/** The part of a report that is kept besides the rows that it changes. */
export interface LastReport {
  readonly agentRun: string;
  readonly sequence: number;
  /** The root's, then those of nested providers. */
  readonly providerUuids: readonly string[];
  /** Digest of the whole report; '' when providers' rows hold more than it, because resources left out are still in use. */
  readonly digest: string;
}

/** Holder of a host until the time is over. */
export interface StoredHolder extends HostHolder {
  readonly untilMs: number;
  readonly leaseMs: number;
}

/** A provider with the name of the host whose root it is, if it is one, and who wrote what of it. */
export interface StoredProvider extends Omit<Provider, 'generation'> {
  readonly host: string | undefined;
  /** The last report of the host's agent. */
  readonly reported?: {
    readonly inventories: Readonly<Record<string, ReportedInventory>>;
    readonly traits: readonly string[];
    readonly aggregates: readonly string[];
  };
  /** Operators' taints of a device, by key. */
  readonly tainted?: Readonly<Record<string, string>>;
  /** Since when those of them stand that move away who has it, by key. */
  readonly evicting?: Readonly<Record<string, number>>;
  /** Operators' values that differ from the agent's, by class. */
  readonly decided?: Readonly<Record<string, DecidedInventory>>;
}

/** The part of a reported inventory that operators may override; `reserved` excludes external usage. */
export type ReportedInventory = readonly [reserved: number, allocationRatio: number, externalUsage: number];

/** `reserved` is without what others use. */
export interface DecidedInventory {
  readonly reserved?: number;
  readonly allocationRatio?: number;
}

/** The part of a consumer's row that the write alone decides, whatever the consumer was before. */
export type ConsumerBody = Omit<Consumer, 'uuid' | 'generation' | 'claimToken' | 'createdAtMs'>;

/** A row as read. Rows are immutable: each write makes a new one. */
export interface Stored<T> {
  readonly row: T;
  /** Revision of the commit that wrote it. */
  readonly revision: number;
}

/**
 * Counters, each under a name: how many providers use a custom class or trait, how many members a group has (on a host, in a domain),
 * how many groups a project has, how often anything about host aggregates was changed, how many leases there are.
 */
export const counters = {
  usersOf: (catalogue: 'resource_class' | 'trait', name: string) => `${catalogue} ${name}`,
  namesBy: (agent: string) => `names-by ${agent}`,
  aggregateChanges: 'aggregate-changes',
  groupsOf: (projectId: string) => `groups ${projectId}`,
  membersOf: (group: string) => `members ${group}`,
  // A host's name has no spaces.
  membersOn: (group: string, host: string) => `members-on ${host} ${group}`,
  membersIn: (group: string, domain: GroupDomain) => `members-in ${domainKey(domain)}${group}`,
  // Places that members on a move may go back to, and members that may leave a domain again.
  keptOf: (group: string) => `kept ${group}`,
  keptOn: (group: string, host: string) => `kept-on ${host} ${group}`,
  keptIn: (group: string, domain: GroupDomain) => `kept-in ${domainKey(domain)}${group}`,
  passingIn: (group: string, domain: GroupDomain) => `passing-in ${domainKey(domain)}${group}`,
  quotas: 'quotas',
  leases: 'leases',
  guarantees: 'guarantees',
  reservations: 'reservations',
  leasesOf: (projectId: string) => `leases ${projectId}`,
} as const;

function domainKey({ by, domain }: GroupDomain): string {
  return `${Buffer.byteLength(by)}:${by}${Buffer.byteLength(domain)}:${domain}`;
}

/** A project in keys and change records, where a space would end it. */
export function projectKey(projectId: string): string {
  return encodeURIComponent(projectId).replace(
    /[!~*'()]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The project of a key. */
export function projectOfKey(key: string): string {
  return decodeURIComponent(key);
}

function asProvider(_key: string, stored: Stored<Tables['provider']>, generation: number): Revised<Provider> {
  const { host: _host, reported: _reported, decided: _decided, ...provider } = stored.row;
  return { ...provider, generation, revision: stored.revision };
}

/** The agent's part of a stored provider; undefined when no agent reported it. */
export function asReported({ row: { uuid, reported, device } }: Stored<StoredProvider>): ReportedProvider | undefined {
  if (reported === undefined) return undefined;
  const external = Object.entries(reported.inventories).map(([name, [, , used]]) => [name, used] as const);
  const externalUsage = Object.fromEntries(external.filter(([, used]) => used > 0));
  return { uuid, traits: reported.traits, externalUsage, ...(device ? { device } : {}) };
}

/** A stored usage as readers of the store see it. */
export function asUsage(providerUuid: string, stored: Stored<Tables['usage']>): Revised<Usage> {
  return { providerUuid, ...stored.row, revision: stored.revision };
}

/** Likewise a consumer. */
export function asConsumer({ row, revision }: Stored<Consumer>): Revised<Consumer> {
  return { ...row, revision };
}

function asQuota(key: string, { row, revision }: Stored<Tables['quota']>): Revised<ProjectQuota> {
  return { ...row, projectId: projectOfKey(key), version: revision, revision };
}

/** A row of a project's use as readers of the store see it. */
export function asProjectUsage(key: string, { row, revision }: Stored<StoredUsage>): Revised<ProjectUsage> {
  return { projectId: projectOfKey(key), used: heldOf(row), atMs: row.atMs, days: daysOf(row), revision };
}

function asCatalogueName(name: string, stored: Stored<{ createdAtMs: number }>): Revised<CatalogueName> {
  return { name, createdAtMs: stored.row.createdAtMs, revision: stored.revision };
}

/** A sample of a project's recent use as readers of the store see it. */
export function asRecentUse(key: string, { row }: Stored<Tables['recent_use']>): RecentUse {
  return { ...row, projectId: projectOfKey(key) };
}

/** Rows that are being collected. */
export type RowLists = { -readonly [K in keyof Rows]: NonNullable<Rows[K]>[number][] };

interface SeenRow<T extends TableName> {
  readonly key: string;
  readonly stored: Stored<Tables[T]> | undefined;
  /** A provider's, which its usage has. */
  readonly generation?: number | undefined;
}

/**
 * Adds a row to a change as readers of the store see it; undefined when it is gone. Tables that mirrors don't see are left
 * out.
 */
export function addRow<T extends TableName>(
  rows: RowLists,
  table: T,
  { key, stored, generation = 0 }: SeenRow<T>,
): void {
  const seen = SEEN[table];
  if (seen === undefined) return;
  const [list, deleted, view] = seen;
  if (stored) ((rows[list] ??= []) as unknown[]).push(view(key, stored, generation));
  else if (deleted) (rows[deleted] ??= []).push(table === 'quota' ? projectOfKey(key) : key);
}

type SeenAs<T extends TableName> = readonly [
  list: keyof Rows,
  deleted: (keyof Rows & `deleted${string}`) | undefined,
  view: (key: string, stored: Stored<Tables[T]>, generation: number) => unknown,
];

const SEEN: { readonly [T in TableName]?: SeenAs<T> } = {
  provider: ['providers', 'deletedProviders', asProvider],
  // A usage goes with its provider.
  usage: ['usages', undefined, asUsage],
  host: ['hosts', 'deletedHosts', (_, { row, revision }) => ({ ...row, revision })],
  consumer: ['consumers', 'deletedConsumers', (_, stored) => asConsumer(stored)],
  resource_class: ['resourceClasses', 'deletedResourceClasses', asCatalogueName],
  trait: ['traits', 'deletedTraits', asCatalogueName],
  aggregate: ['aggregates', 'deletedAggregates', (_, { row, revision }) => ({ ...row, revision })],
  server_group: ['serverGroups', 'deletedServerGroups', (_, { row, revision }) => ({ ...row, revision })],
  quota: ['quotas', 'deletedQuotas', asQuota],
  lease: ['leases', 'deletedLeases', (_, { row, revision }) => ({ ...row, revision })],
  guarantee: ['guarantees', 'deletedGuarantees', (_, { row, revision }) => ({ ...row, revision })],
  admission_turn: ['admissionTurns', undefined, (_, { row, revision }) => ({ ...row, revision })],
  reservation: ['reservations', 'deletedReservations', (_, { row, revision }) => ({ ...row, revision })],
};
