import { type Broken, broken, type Maps, withEntry } from './step';

/** A lease of a name: a host, a node, a place in a pool, a task of conductors. An epoch is one holder's alone. */
export interface Lease {
  /** Undefined once it is given back. */
  readonly holder: string | undefined;
  readonly epoch: number;
  readonly untilMs: number;
  readonly leaseMs: number;
  /** The latest epoch under which something was written in the name. */
  readonly heard: number;
}

export type LeaseStep = { readonly name: string; readonly atMs: number } & (
  | {
      readonly kind: 'acquire';
      readonly holder: string;
      readonly leaseMs: number;
      /** The epoch that was given. */
      readonly epoch: number;
      /** A holder that is known to be dead: its lease may be taken at once. */
      readonly former?: string | undefined;
    }
  | { readonly kind: 'release'; readonly holder: string }
  /** Its name is forgotten: a host was deleted. */
  | { readonly kind: 'forget' }
  /** Something is written in the name, under an epoch. A report renews the lease; a fenced write needs one that lasts. */
  | { readonly kind: 'report' | 'write' | 'fenced write'; readonly epoch: number }
);

export type Leases = Maps<Lease>;

/**
 * One holder at a time, for a time, and a new epoch with each holder (fencing; Kleppmann, "How to do distributed locking"): whoever was
 * superseded may still act, and what it writes is refused by its epoch.
 */
export function stepLeases(leases: Leases, step: LeaseStep): Leases | Broken {
  const { name, atMs } = step;
  const present = leases[name];
  switch (step.kind) {
    case 'acquire': {
      const isMine = present?.holder === step.holder;
      const isFormer = step.former !== undefined && present?.holder === step.former;
      const isLive = present?.holder !== undefined && present.untilMs > atMs;
      if (isLive && !isMine && !isFormer) {
        return broken(
          `${step.holder} is given ${name}, which ${present.holder} holds for ${present.untilMs - atMs} ms`,
        );
      }
      const last = Math.max(present?.epoch ?? 0, present?.heard ?? 0);
      if (isMine ? step.epoch < last || (isLive && step.epoch > last) : step.epoch <= last) {
        return broken(`${step.holder} is given epoch ${step.epoch} of ${name}, after epoch ${last}`);
      }
      const { leaseMs, epoch, holder } = step;
      return withEntry(leases, name, { holder, epoch, untilMs: atMs + leaseMs, leaseMs, heard: present?.heard ?? 0 });
    }
    case 'release':
      if (present?.holder !== step.holder) return leases;
      return withEntry(leases, name, { ...present, holder: undefined, untilMs: 0 });
    case 'forget':
      return present ? withEntry(leases, name, { ...present, holder: undefined, epoch: 0, untilMs: 0 }) : leases;
    default:
      return write(leases, step, present);
  }
}

/** Epoch 0 is that of nobody: it is heard where nobody's lease lasts. */
function write(
  leases: Leases,
  { kind, name, epoch, atMs }: Extract<LeaseStep, { readonly epoch: number }>,
  present: Lease | undefined,
): Leases | Broken {
  const isLive = present !== undefined && present.untilMs > atMs;
  const isHeard = epoch === 0 ? !isLive : present?.holder !== undefined && present.epoch === epoch;
  if (!isHeard) return broken(`${name}: a ${kind} under epoch ${epoch} is taken; epoch ${present?.epoch} is present`);
  if (kind === 'fenced write' && !isLive) return broken(`${name}: a ${kind} is taken though the lease has run out`);
  if (present === undefined || epoch === 0) return leases;
  const untilMs = kind === 'report' ? Math.max(present.untilMs, atMs + present.leaseMs) : present.untilMs;
  return withEntry(leases, name, { ...present, untilMs, heard: Math.max(present.heard, epoch) });
}

/** Invariant after each step: what is heard in a name never goes back to an earlier holder. */
export function wrongWithLeases(before: Leases, after: Leases, step: LeaseStep): string | undefined {
  const [old, now] = [before[step.name], after[step.name]];
  if ('epoch' in step && step.kind !== 'acquire' && step.epoch !== 0 && step.epoch < (old?.heard ?? 0)) {
    return `${step.name}: epoch ${step.epoch} is heard after epoch ${old?.heard}`;
  }
  const isNew = now?.holder !== undefined && now.holder !== old?.holder;
  return isNew && old && now.epoch <= old.heard ? `${step.name}: two holders share epoch ${now.epoch}` : undefined;
}
