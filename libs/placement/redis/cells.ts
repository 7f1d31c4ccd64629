import type { Consumer } from '../../domain/consumer';
import { BerthError } from '../../domain/errors';
import type { Inventories } from '../../domain/inventory';
import type { ConsumerRest, Stored, StoredConsumer, TableName, Tables } from '../commands/tables';
import type { Revised } from '../store';

/*
 * A cell is one row as Redis keeps it: the revision, then a few numbers that scripts read without parsing more, then
 * JSON. What follows the revision is the body.
 */

type PackedInventories = Record<string, readonly [number, number, number, number, number, number]>;

/** The row of a cell. `key` is the row's key, which the cell leaves out. */
export function decodeCell<T extends TableName>(table: T, key: string, cell: string): Stored<Tables[T]> {
  const space = cell.indexOf(' ');
  const revision = Number(cell.slice(0, space));
  return { revision, row: decoders[table](key, cell.slice(space + 1)) };
}

/**
 * A consumer's cell as readers see it. Mirrors do this for every claim, so it makes no object more than it must: what the
 * JSON says may be known.
 */
export function decodeConsumer(uuid: string, cell: string, known?: ConsumerRest): Revised<Consumer> {
  const space = cell.indexOf(' ');
  const [claimRevision, generation, createdAtMs, json] = splitHead(cell.slice(space + 1));
  const rest = known ?? (JSON.parse(json) as ConsumerRest);
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
    revision: Number(cell.slice(0, space)),
  };
}

/** The body of a row, without its revision. */
export function encodeBody<T extends TableName>(table: T, row: Tables[T]): string {
  return encoders[table](row);
}

/** The body of a consumer without its claim revision, which the script knows. */
export function encodeClaim(consumer: StoredConsumer): string {
  const head = { uuid: undefined, generation: undefined, claimRevision: undefined, createdAtMs: undefined };
  return `${consumer.generation} ${consumer.createdAtMs} ${JSON.stringify({ ...consumer, ...head })}`;
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
  sequence: (row) => JSON.stringify(row),
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
  consumer(uuid, body) {
    const [claimRevision, generation, createdAtMs, json] = splitHead(body);
    const rest = JSON.parse(json) as ConsumerRest;
    return { ...LEFT_OUT, ...rest, uuid, generation, claimRevision, createdAtMs };
  },
  resource_class: (_, body) => ({ createdAtMs: Number(body) }),
  trait: (_, body) => ({ createdAtMs: Number(body) }),
  name: (_, uuid) => ({ uuid }),
  tree: (_, body) => ({ members: JSON.parse(body) }),
  sequence: (_, body) => JSON.parse(body),
};

/** What the JSON of a consumer does not say when there is none. */
const LEFT_OUT = { consumerType: undefined, groupId: undefined, groupHost: undefined };

function splitHead(body: string): [number, number, number, string] {
  const first = body.indexOf(' ');
  const second = body.indexOf(' ', first + 1);
  const third = body.indexOf(' ', second + 1);
  if (first < 0 || second < 0 || third < 0) throw new BerthError('internal', 'bad_cell', `not a consumer: ${body}`);
  const numbers = [body.slice(0, first), body.slice(first + 1, second), body.slice(second + 1, third)].map(Number);
  return [...(numbers as [number, number, number]), body.slice(third + 1)];
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
