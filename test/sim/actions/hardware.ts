import type { Random } from '#libs/domain/random';
import { TREE_HOST } from '../fleet';
import { PARTS } from '../machine';
import { HOSTS } from '../settings';
import { type Perform, pick } from './common';

/** A host has half of what it had for a while; most often the one whose providers its agent checks one by one. */
export function machineShrinks(random: Random): Perform {
  const host = pick(random, [...HOSTS, TREE_HOST, TREE_HOST]);
  const forMs = 1_000 + random.next() * 8_000;
  return ({ fleet }) => {
    fleet.note(host, 'has half of what it had');
    fleet.machines.get(host)?.resize(0.5);
    fleet.later(forMs, () => fleet.machines.get(host)?.resize(1));
  };
}

/** A NUMA node or a device of a host is not there for a while. What runs on it runs on. */
export function partVanishes(random: Random): Perform {
  const part = pick(random, PARTS);
  const forMs = 500 + random.next() * 9_000;
  return ({ fleet }) => {
    fleet.note(TREE_HOST, `has no ${part} any more`);
    fleet.machines.get(TREE_HOST)?.takeOut(part);
    fleet.later(forMs, () => {
      fleet.note(TREE_HOST, `has its ${part} again`);
      fleet.machines.get(TREE_HOST)?.putBack(part);
    });
  };
}

/** A device is found at another NUMA node. */
export function deviceMoves(): Perform {
  return ({ fleet }) => {
    fleet.note(TREE_HOST, 'has its gpu at the other node');
    fleet.machines.get(TREE_HOST)?.moveGpu();
  };
}
