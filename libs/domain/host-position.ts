/**
 * When an agent said something of its host: as the holder of which epoch, and after what else. An observation that is not
 * after the one that a record rests on proves nothing. Epoch 0 is that of agents which hold none (before 0.2).
 */
export interface HostPosition {
  /** From the placement store: rises with each holder of the host, so that what an old one says can be told apart. */
  readonly epoch: number;
  /** Counts all that the agent says of the host. */
  readonly position: number;
}

/** Whether it was said after something else; everything is after nothing. */
export function isAfter(one: HostPosition, other: HostPosition | undefined): boolean {
  if (other === undefined) return true;
  return one.epoch === other.epoch ? one.position > other.position : one.epoch > other.epoch;
}
