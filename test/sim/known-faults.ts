import type { Violation } from './checker';

/** A fault of Berth that is known and being mended: until then no run fails by it. */
interface KnownFault {
  readonly fault: string;
  /** Whether a violation is this fault. */
  readonly explains?: (violation: Violation) => boolean;
  /** What brings it about, and is not done. */
  readonly kinds?: readonly string[];
}

export const KNOWN_FAULTS: readonly KnownFault[] = [
  {
    fault: 'a request whose copy comes after its instances are forgotten is built again',
    explains: ({ invariant }) => invariant === 'what has ended stays so',
  },
  {
    fault: 'the memory stores do not say that they lost writes, so what runs is not adopted',
    kinds: ['store goes back', 'store is wiped'],
  },
];

/** Whether a violation is of a known fault. */
export function isKnown(violation: Violation): boolean {
  return KNOWN_FAULTS.some(({ explains }) => explains?.(violation));
}

/** Whether a kind of action is left out because of a known fault. */
export function isKnownKind(kind: string): boolean {
  return KNOWN_FAULTS.some(({ kinds }) => kinds?.includes(kind));
}
