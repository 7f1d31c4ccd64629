import { DEFAULT_CELL } from '../domain/cells/cell';
import type { QueueAddress, QueueSpec } from './queues';

/** The name of a queue, an exchange or a user of a cell on a broker that cells share: `cell.b.build.requests`. */
export function inCell(cell: string, name: string): string {
  return cell === DEFAULT_CELL ? name : `cell.${cell}.${name}`;
}

const OF_CELL = /^cell\.([^.]+)\./;

/** Which cell a name on the broker belongs to. */
export function cellOf(name: string): string {
  return OF_CELL.exec(name)?.[1] ?? DEFAULT_CELL;
}

/** A name on the broker without its cell: `build.requests`. */
export function withoutCell(name: string): string {
  return name.replace(OF_CELL, '');
}

/** A queue as it is on the broker for a cell, with its entrance. */
export function queueInCell(cell: string, spec: QueueSpec): QueueSpec {
  if (cell === DEFAULT_CELL) return spec;
  const { entrance } = spec;
  return {
    ...spec,
    name: inCell(cell, spec.name),
    ...(entrance && { entrance: { ...entrance, exchange: inCell(cell, entrance.exchange) } }),
  };
}

/** Where to send to, as `queueInCell`. A name alone is one on the broker already, as of a client's `reply_to`. */
export function addressInCell(cell: string, address: QueueAddress): QueueAddress {
  return typeof address === 'string' ? address : queueInCell(cell, address);
}
