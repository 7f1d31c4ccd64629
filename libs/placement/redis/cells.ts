import type { Allocations, Consumer } from '../../domain/consumer';
import { BerthError } from '../../domain/errors';
import type { Inventories, Resources } from '../../domain/inventory';
import type { ConsumerRest, Stored, StoredConsumer, TableName, Tables } from '../commands/tables';
import type { Revised } from '../store';

/*
 * A cell is one row as Redis keeps it: the revision, then what scripts read without parsing more (a few numbers, what a
 * consumer takes), then JSON. What follows the revision is the body.
 */

type PackedInventories = Record<string, readonly [number, number, number, number, number, number]>;

/** What a consumer's body says after what it takes; the group and its host only when there is one. */
type PackedRest = readonly [
  projectId: string,
  userId: string,
  consumerType: string | null,
  owner: ConsumerRest['owner'],
  mappings: Consumer['mappings'],
  updatedAtMs: number,
  groupId?: string,
  groupHost?: string,
];

/** The row of a cell. `key` is the row's key, which the cell leaves out. */
export function decodeCell<T extends TableName>(table: T, key: string, cell: string): Stored<Tables[T]> {
  const space = cell.indexOf(' ');
  const revision = Number(cell.slice(0, space));
  return { revision, row: decoders[table](key, cell.slice(space + 1)) };
}

/**
 * A consumer's cell as readers see it. Mirrors do this for every claim, so it makes no object more than it must. What its
 * body says may be known; then the cell may be without it.
 */
export function decodeConsumer(uuid: string, cell: string, known?: ConsumerRest): Revised<Consumer> {
  const [[revision = 0, claimRevision = 0, generation = 0, createdAtMs = 0], body] = splitNumbers(cell, 4);
  const rest = known ?? decodeRest(body);
  const { projectId, userId, consumerType, owner, allocations, mappings, groupId, updatedAtMs } = rest;
  return {
    uuid,
    generation,
    projectId,
    userId,
    consumerType,
    owner,
    allocations,
    mappings,
    groupId,
    claimRevision,
    createdAtMs,
    updatedAtMs,
    revision,
  };
}

/** How a cell of a revision begins, whatever its body. */
export function headOf(revision: number): string {
  return `${revision} `;
}

/** The body of a row, without its revision. */
export function encodeBody<T extends TableName>(table: T, row: Tables[T]): string {
  return encoders[table](row);
}

/** The body of a consumer without its claim revision, which the script knows. */
export function encodeClaim(consumer: StoredConsumer): string {
  return `${consumer.generation} ${consumer.createdAtMs} ${encodeRest(consumer)}`;
}

/** What a consumer takes, a tab, and what else there is to say of it: JSON, so without a tab. */
export function encodeRest(rest: ConsumerRest): string {
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
  } = rest;
  const packed: PackedRest = [projectId, userId, consumerType, owner, mappings, updatedAtMs];
  const json = JSON.stringify(groupId === undefined ? packed : [...packed, groupId, groupHost]);
  return `${encodeTakes(allocations)}\t${json}`;
}

/** Texts of allocations, which nobody changes: those of a flat host are the same for all who are sent there. */
const takes = new WeakMap<Allocations, string>();

/** What a consumer takes of each provider, `<uuid> <class> <amount> <class> <amount> ...;<uuid> ...`. */
function encodeTakes(allocations: Allocations): string {
  const known = takes.get(allocations);
  if (known !== undefined) return known;
  const text = Object.entries(allocations)
    .map(([uuid, resources]) => [uuid, ...Object.entries(resources).flat()].join(' '))
    .join(';');
  takes.set(allocations, text);
  return text;
}

/** Inventories as the claim script reads them. */
export function encodeInventories(inventories: Inventories): string {
  return JSON.stringify(pack(inventories));
}

const encoders: { readonly [T in TableName]: (row: Tables[T]) => string } = {
  provider: ({ inventories, ...rest }) => JSON.stringify({ ...rest, uuid: undefined, inventories: pack(inventories) }),
  usage: ({ generation, used }) => `${generation} ${JSON.stringify(used)}`,
  host: (host) => JSON.stringify({ ...host, name: undefined }),
  consumer: (consumer) => `${consumer.claimRevision} ${encodeClaim(consumer)}`,
  resource_class: ({ createdAtMs }) => String(createdAtMs),
  trait: ({ createdAtMs }) => String(createdAtMs),
  name: ({ uuid }) => uuid,
  tree: ({ members }) => JSON.stringify(members),
  sequence: ({ agentRun, sequence }) => `${sequence} ${JSON.stringify(agentRun)}`,
};

const decoders: { readonly [T in TableName]: (key: string, body: string) => Tables[T] } = {
  provider(uuid, body) {
    const { inventories, ...rest } = JSON.parse(body) as Omit<Tables['provider'], 'inventories'> & {
      inventories: PackedInventories;
    };
    return { ...rest, uuid, parentUuid: rest.parentUuid, host: rest.host, inventories: unpack(inventories) };
  },
  usage(_, body) {
    const space = body.indexOf(' ');
    return { generation: Number(body.slice(0, space)), used: JSON.parse(body.slice(space + 1)) };
  },
  host: (name, body) => ({ ...JSON.parse(body), name }),
  consumer(uuid, text) {
    const [[claimRevision = 0, generation = 0, createdAtMs = 0], body] = splitNumbers(text, 3);
    return { ...decodeRest(body), uuid, generation, claimRevision, createdAtMs };
  },
  resource_class: (_, body) => ({ createdAtMs: Number(body) }),
  trait: (_, body) => ({ createdAtMs: Number(body) }),
  name: (_, uuid) => ({ uuid }),
  tree: (_, body) => ({ members: JSON.parse(body) }),
  sequence(_, body) {
    const space = body.indexOf(' ');
    return { sequence: Number(body.slice(0, space)), agentRun: JSON.parse(body.slice(space + 1)) };
  },
};

function decodeRest(body: string): ConsumerRest {
  const tab = body.indexOf('\t');
  if (tab < 0) throw new BerthError('internal', 'bad_cell', `not a consumer: ${body}`);
  const allocations = decodeTakes(body.slice(0, tab));
  const packed = JSON.parse(body.slice(tab + 1)) as PackedRest;
  const [projectId, userId, consumerType, owner, mappings, updatedAtMs, groupId, groupHost] = packed;
  return {
    projectId,
    userId,
    consumerType: consumerType ?? undefined,
    owner,
    allocations,
    mappings,
    groupId,
    groupHost,
    updatedAtMs,
  };
}

function decodeTakes(text: string): Allocations {
  const allocations: Record<string, Resources> = {};
  for (const part of text.split(';')) {
    const [uuid = '', ...words] = part.split(' ');
    const resources: Record<string, number> = {};
    for (let i = 0; i < words.length; i += 2) resources[words[i] as string] = Number(words[i + 1]);
    allocations[uuid] = resources;
  }
  return allocations;
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
