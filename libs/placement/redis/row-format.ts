import type { Allocations, Consumer } from '../../domain/consumer';
import { BerthError } from '../../domain/errors';
import type { Inventories, Resources } from '../../domain/inventory';
import { lru } from '../../runtime/lru';
import type { ConsumerBody, Stored, StoredName, TableName, Tables } from '../commands/tables';
import type { HostHolder, Revised, StoreHealth, StoreIdentity } from '../port/placement-store';

/*
 * A row text is one row as Redis keeps it: the revision, then its content. Of the content, scripts read what stands first
 * without parsing the rest: a few numbers, what a consumer takes; JSON follows. A consumer's content is its claim token,
 * generation and creation, then its body.
 */

type PackedInventories = Record<string, readonly [number, number, number, number, number, number]>;

/**
 * A consumer's body after what it takes; the group and its host only when there is one, and likewise its domain, and its
 * priority. False stands for what is not there before something that is: scripts take it for nothing.
 */
type PackedBody = readonly [
  projectId: string,
  userId: string,
  consumerType: string | null,
  owner: ConsumerBody['owner'],
  mappings: Consumer['mappings'],
  updatedAtMs: number,
  groupId?: string | false,
  groupHost?: string | false,
  spreadBy?: string | false,
  domain?: string | false,
  priority?: number,
  isProtected?: 0 | 1,
  movedTo?: string | false,
  counted?: Resources | false,
  flavor?: string | false,
  /** Null for undefined, as JSON has it. */
  heldSinceMs?: number | null,
  reservation?: string | false,
  endsAtMs?: number,
];

/** Reads a row text. `key` is the row's key, which the text leaves out. */
export function decodeRow<T extends TableName>(table: T, key: string, text: string): Stored<Tables[T]> {
  const space = text.indexOf(' ');
  const revision = Number(text.slice(0, space));
  return { revision, row: decoders[table](key, text.slice(space + 1)) };
}

/**
 * Reads a consumer's row text as readers of the store see it. Mirrors do this for every claim, so it makes no object more
 * than it must.
 */
export function decodeConsumer(uuid: string, text: string): Revised<Consumer> {
  const [[revision = 0, claimToken = 0, generation = 0, createdAtMs = 0], bodyText] = splitNumbers(text, 4);
  const body = decodeBody(bodyText);
  const { projectId, userId, consumerType, owner, allocations, mappings, updatedAtMs } = body;
  const { groupId, groupHost, groupDomain } = body;
  const consumer: Revised<Consumer> = {
    uuid,
    generation,
    projectId,
    userId,
    consumerType,
    owner,
    allocations,
    mappings,
    groupId,
    groupHost,
    groupDomain,
    claimToken,
    createdAtMs,
    updatedAtMs,
    revision,
  };
  const { priority, groupKept, counted } = body;
  const used = usageIn(body);
  if (priority === undefined && groupKept === undefined && counted === undefined && !used) return consumer;
  return { ...consumer, ...rankOf(body), ...keptOf(body), ...countedIn(body), ...used };
}

/**
 * Reads which store this is, as `lua/include/change.lua` writes it, '' when nobody has, and what `TIME` answers. The next write goes
 * on at the clock's microseconds where another server wrote last, or a revision was seen that the store does not have.
 */
export function decodeIdentity(
  text: string,
  revision: number,
  time: readonly string[],
  { server, seen }: { readonly server: string | undefined; readonly seen: number },
): StoreIdentity {
  const [seconds = 0, us = 0] = time.map(Number);
  const [birthId = '', bornUs = '0', lastServer, ...jumps] = text.split(' ');
  const isOlder = server !== lastServer || seen > revision;
  const isUnwritten = birthId !== '' && isOlder;
  if (isUnwritten) jumps.push(`${revision}-${seconds * 1_000_000 + us}`);
  return {
    isUnwritten,
    birthId: birthId === '' ? undefined : birthId,
    bornAtMs: Math.floor(Number(bornUs) / 1_000),
    revision,
    nowMs: seconds * 1_000 + Math.floor(us / 1_000),
    jumps: jumps.map((jump) => {
      const [last = 0, next = 0] = jump.split('-').map(Number);
      return [last, next] as const;
    }),
  };
}

/** Reads a server's health from the sections memory and persistence of its `INFO`. */
export function healthIn(info: string): StoreHealth {
  const valueOf = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
  return {
    memoryBytes: Number(valueOf('used_memory') ?? 0),
    memoryLimitBytes: Number(valueOf('maxmemory') ?? 0),
    isFileFailing: [valueOf('aof_last_write_status'), valueOf('aof_last_bgrewrite_status')].includes('err'),
  };
}

/** Beginning of a row's text at a revision, whatever its content. */
export function headOf(revision: number): string {
  return `${revision} `;
}

/** The content of a row: its text without the revision. */
export function encodeContent<T extends TableName>(table: T, row: Tables[T]): string {
  return encoders[table](row);
}

/** A consumer's content without its claim token, which only the script knows. */
export function encodeClaim(consumer: Consumer): string {
  return `${consumer.generation} ${consumer.createdAtMs} ${encodeBody(consumer)}`;
}

/** A consumer's body: what it takes, a tab, and its other fields as JSON, which has no tab. */
function encodeBody(body: ConsumerBody): string {
  const {
    projectId,
    userId,
    consumerType = null,
    owner,
    allocations,
    mappings,
    updatedAtMs,
    groupId,
    groupHost,
    groupDomain,
  } = body;
  const packed: PackedBody = [projectId, userId, consumerType, owner, mappings, updatedAtMs];
  const membership = groupId === undefined ? [] : [groupId, groupHost];
  if (groupDomain) membership.push(groupDomain.by, groupDomain.domain);
  const { groupKept: kept, counted } = body;
  const used = usageIn(body);
  const rank = rankOf(body) ?? ((kept || counted || used) && NO_RANK);
  const none = rank ? Array.from({ length: 4 - membership.length }, () => false as const) : [];
  const ranked = rank ? [...none, rank.priority, rank.isProtected ? 1 : 0] : [];
  const moved = counted || used ? [kept?.movedTo ?? false, counted ?? false] : kept ? [kept.movedTo] : [];
  const limited = used?.reservation || used?.endsAtMs ? [used.reservation ?? false, used.endsAtMs] : [];
  const last = used ? [...moved, used.flavor ?? false, used.heldSinceMs, ...limited] : moved;
  const json = JSON.stringify(groupId === undefined && !rank ? packed : [...packed, ...membership, ...ranked, ...last]);
  return `${encodeTakes(allocations)}\t${json}`;
}

/** Texts of allocations, which are immutable: those of a flat host are the same object for every claim of one size. */
const takesTexts = new WeakMap<Allocations, string>();

/** A consumer's allocations, `<uuid> <class> <amount> <class> <amount> ...;<uuid> ...`. */
function encodeTakes(allocations: Allocations): string {
  const known = takesTexts.get(allocations);
  if (known !== undefined) return known;
  const text = Object.entries(allocations)
    .map(([uuid, resources]) => [uuid, ...Object.entries(resources).flat()].join(' '))
    .join(';');
  takesTexts.set(allocations, text);
  return text;
}

function encodeName({ createdAtMs, by }: StoredName): string {
  return by === undefined ? String(createdAtMs) : `${createdAtMs} ${by}`;
}

function decodeName(content: string): StoredName {
  const [createdAtMs, by] = content.split(' ');
  return { createdAtMs: Number(createdAtMs), ...(by === undefined ? {} : { by }) };
}

const encoders: { readonly [T in TableName]: (row: Tables[T]) => string } = {
  provider: ({ inventories, ...rest }) => JSON.stringify({ ...rest, uuid: undefined, inventories: pack(inventories) }),
  usage: ({ generation, used }) => `${generation} ${JSON.stringify(used)}`,
  host: (host) => JSON.stringify({ ...host, name: undefined }),
  consumer: (consumer) => `${consumer.claimToken} ${encodeClaim(consumer)}`,
  resource_class: encodeName,
  trait: encodeName,
  aggregate: (aggregate) => JSON.stringify({ ...aggregate, uuid: undefined }),
  server_group: (group) => JSON.stringify(group),
  name: ({ uuid }) => uuid,
  tree: ({ members }) => JSON.stringify(members),
  sequence: ({ agentRun, sequence, digest }) => `${sequence} ${JSON.stringify(agentRun)}\n${digest}`,
  holder: ({ untilMs, leaseMs, ...holder }) => `${untilMs} ${leaseMs} ${encodeHolder(holder)}`,
  quota: (quota) => JSON.stringify(quota),
  cohort: ({ members }) => JSON.stringify(members),
  project_usage: ({ atMs, amounts }) => `${atMs} ${JSON.stringify(amounts)}`,
  project_days: ({ days }) => JSON.stringify(days),
  usage_parts: ({ days }) => JSON.stringify(days),
  recent_use: (recent) => JSON.stringify(recent),
  lease: (lease) => JSON.stringify({ ...lease, consumerUuid: undefined }),
  nomination: (room) => JSON.stringify(room),
  guarantee: (guarantee) => JSON.stringify({ ...guarantee, name: undefined }),
  reservation: (reservation) => JSON.stringify({ ...reservation, name: undefined }),
  admission_turn: (turn) => JSON.stringify(turn),
};

const decoders: { readonly [T in TableName]: (key: string, content: string) => Tables[T] } = {
  provider(uuid, content) {
    const { inventories, ...rest } = JSON.parse(content) as Omit<Tables['provider'], 'inventories'> & {
      inventories: PackedInventories;
    };
    return { ...rest, uuid, parentUuid: rest.parentUuid, host: rest.host, inventories: unpack(inventories) };
  },
  usage(_, content) {
    const space = content.indexOf(' ');
    return { generation: Number(content.slice(0, space)), used: JSON.parse(content.slice(space + 1)) };
  },
  host: (name, content) => ({
    epoch: 0,
    aggregates: [],
    failuresInARow: 0,
    lastFailure: '',
    ...JSON.parse(content),
    name,
  }),
  consumer(uuid, content) {
    const [[claimToken = 0, generation = 0, createdAtMs = 0], body] = splitNumbers(content, 3);
    return { ...decodeBody(body), uuid, generation, claimToken, createdAtMs };
  },
  resource_class: (_, content) => decodeName(content),
  trait: (_, content) => decodeName(content),
  aggregate: (uuid, content) => ({ ...JSON.parse(content), uuid }),
  server_group: (_, content) => JSON.parse(content),
  name: (_, uuid) => ({ uuid }),
  tree: (_, content) => ({ members: JSON.parse(content) }),
  sequence(_, content) {
    const space = content.indexOf(' ');
    const [agentRun = '', said = ''] = content.slice(space + 1).split('\n');
    const [digest = '', , ...revised] = said.split(' ');
    const providerUuids = revised.filter((_word, n) => n % 2 === 0);
    return { sequence: Number(content.slice(0, space)), agentRun: JSON.parse(agentRun), providerUuids, digest };
  },
  holder(_, content) {
    const [[untilMs = 0, leaseMs = 0], holder] = splitNumbers(content, 2);
    return { ...decodeHolder(holder), untilMs, leaseMs };
  },
  quota: (_, content) => ({ cohort: undefined, ...JSON.parse(content) }),
  cohort: (_, content) => ({ members: JSON.parse(content) }),
  project_usage(_, content) {
    const space = content.indexOf(' ');
    return { atMs: Number(content.slice(0, space)), amounts: JSON.parse(content.slice(space + 1)) };
  },
  project_days: (_, content) => ({ days: JSON.parse(content) }),
  usage_parts: (_, content) => ({ days: JSON.parse(content) }),
  recent_use: (_, content) => JSON.parse(content),
  lease: (consumerUuid, content) => ({ ...JSON.parse(content), consumerUuid }),
  nomination: (_, content) => JSON.parse(content),
  guarantee: (name, content) => ({ ...JSON.parse(content), name }),
  reservation: (name, content) => ({ ...JSON.parse(content), name }),
  admission_turn: (_, content) => JSON.parse(content),
};

/** Every table. */
export const TABLES = Object.keys(decoders) as readonly TableName[];

/** True for the name of a table. */
export function isTable(name: string): name is TableName {
  return Object.hasOwn(decoders, name);
}

/** A holder of hosts as scripts compare it. */
export function encodeHolder({ agentRun, serviceHost }: HostHolder): string {
  return JSON.stringify([agentRun, serviceHost]);
}

export function decodeHolder(text: string): HostHolder {
  const [agentRun = '', serviceHost = ''] = JSON.parse(text) as string[];
  return { agentRun, serviceHost };
}

function decodeBody(body: string): ConsumerBody {
  const tab = body.indexOf('\t');
  if (tab < 0) throw new BerthError('internal', 'bad_row', `not a consumer: ${body}`);
  const allocations = decodeTakes(body.slice(0, tab));
  const packed = JSON.parse(body.slice(tab + 1)) as PackedBody;
  const [projectId, userId, consumerType, owner, mappings, updatedAtMs, groupId, groupHost, by, domain] = packed;
  const decoded: ConsumerBody = {
    projectId,
    userId,
    consumerType: consumerType ?? undefined,
    owner,
    allocations,
    mappings,
    groupId: groupId || undefined,
    groupHost: groupHost || undefined,
    groupDomain: by && domain !== undefined && domain !== false ? { by, domain } : undefined,
    updatedAtMs,
  };
  if (packed.length <= PLACES_BEFORE_RANK) return decoded;
  const [priority = 0, isProtected = 0, movedTo, counted, flavor, heldSinceMs, reservation, endsAtMs] = packed.slice(
    PLACES_BEFORE_RANK,
  ) as [
    number?,
    number?,
    (string | false)?,
    (Resources | false)?,
    (string | false)?,
    (number | null)?,
    (string | false)?,
    (number | null)?,
  ];
  const used = {
    flavor: flavor || undefined,
    heldSinceMs: heldSinceMs ?? undefined,
    reservation: reservation || undefined,
    endsAtMs: endsAtMs ?? undefined,
  };
  return {
    ...decoded,
    ...rankOf({ priority, isProtected: isProtected === 1 }),
    ...keptOf({ groupKept: typeof movedTo === 'string' ? { movedTo } : undefined }),
    ...countedIn({ counted: counted || undefined }),
    ...usageIn(used),
  };
}

/** Nothing for one that says nothing. */
function rankOf({ priority = 0, isProtected = false }: Pick<ConsumerBody, 'priority' | 'isProtected'>) {
  return priority === 0 && !isProtected ? undefined : { priority, isProtected };
}

/** Places of a packed body before the priority. */
const PLACES_BEFORE_RANK = 10;

const NO_RANK = { priority: 0, isProtected: false };

/** Nothing for one that counts for what it holds. */
function countedIn({ counted }: Pick<ConsumerBody, 'counted'>) {
  return counted && { counted };
}

/** Nothing for one that has no flavor, holds what it held at first, and lasts in no reservation. */
function usageIn({
  flavor,
  heldSinceMs,
  reservation,
  endsAtMs,
}: Pick<ConsumerBody, 'flavor' | 'heldSinceMs' | 'reservation' | 'endsAtMs'>) {
  if (flavor === undefined && heldSinceMs === undefined && reservation === undefined && endsAtMs === undefined) {
    return undefined;
  }
  return {
    ...(flavor === undefined ? {} : { flavor }),
    ...(heldSinceMs === undefined ? {} : { heldSinceMs }),
    ...(reservation === undefined ? {} : { reservation }),
    ...(endsAtMs === undefined ? {} : { endsAtMs }),
  };
}

function keptOf({ groupKept }: Pick<ConsumerBody, 'groupKept'>) {
  return groupKept && { groupKept };
}

function decodeTakes(text: string): Allocations {
  const allocations: Record<string, Resources> = {};
  for (const part of text.split(';')) {
    const space = part.indexOf(' ');
    if (space < 0) allocations[part] = {};
    else allocations[part.slice(0, space)] = sharedResources(part.slice(space + 1));
  }
  return allocations;
}

/** Amounts by their text: a fleet has many instances and few flavors, and the instances of one share its object. */
const resourcesByText = lru<string, Resources>(1_000);
/** Longer ones are not kept: clients choose them. */
const MAX_SHARED_LENGTH = 256;

function sharedResources(text: string): Resources {
  const known = resourcesByText.get(text);
  if (known) return known;
  const resources: Record<string, number> = {};
  const words = text.split(' ');
  for (let i = 0; i < words.length; i += 2) resources[words[i] as string] = Number(words[i + 1]);
  if (text.length <= MAX_SHARED_LENGTH) resourcesByText.set(detached(text), resources);
  return resources;
}

/**
 * A copy of a slice. V8's slices keep the whole string alive, and keys live as long as their rows: without this, each
 * consumer in a mirror would keep the text of the change that brought it.
 */
export function detached(slice: string): string {
  return Buffer.from(slice).toString();
}

/** The numbers that a text begins with, and what comes after them. */
function splitNumbers(text: string, count: number): [numbers: number[], rest: string] {
  const numbers: number[] = [];
  let from = 0;
  while (numbers.length < count) {
    const space = text.indexOf(' ', from);
    const to = space < 0 ? text.length : space;
    numbers.push(Number(text.slice(from, to)));
    from = to + 1;
  }
  return [numbers, text.slice(from)];
}

function pack(inventories: Inventories): PackedInventories {
  return Object.fromEntries(
    Object.entries(inventories).map(([resourceClass, inv]) => [
      resourceClass,
      [inv.total, inv.reserved, inv.allocationRatio, inv.minUnit, inv.maxUnit, inv.stepSize],
    ]),
  );
}

function unpack(packed: PackedInventories): Inventories {
  return Object.fromEntries(
    Object.entries(packed).map(([resourceClass, [total, reserved, allocationRatio, minUnit, maxUnit, stepSize]]) => [
      resourceClass,
      { total, reserved, allocationRatio, minUnit, maxUnit, stepSize },
    ]),
  );
}
