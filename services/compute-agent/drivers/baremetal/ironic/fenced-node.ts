import type { IronicNode } from './ironic-node';

/** A node at Ironic, under the lease of its last claim. */
export interface FencedNode {
  readonly uuid: string;
  /** Reads it now. */
  read(): Promise<IronicNode>;
  /** Sends an order, while the lease is certain. @param path  below the node: `/states/power` */
  order(method: 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<unknown>;
}
