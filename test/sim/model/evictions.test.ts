import { type Claimant, type Fleet, turnsOf } from './evictions';

/** A way round in which fleets come back to where they were; turns that follow from nothing but one another. */
function circleOf(fleet: Fleet): string | undefined {
  const over = new Set<number>();
  const under: number[] = [];
  const visit = (running: number): string | undefined => {
    if (over.has(running)) return undefined;
    if (under.includes(running)) return [...under.slice(under.indexOf(running)), running].join(' ');
    under.push(running);
    for (const { next } of turnsOf(fleet, running)) {
      const found = visit(next);
      if (found !== undefined) return found;
    }
    under.pop();
    over.add(running);
    return undefined;
  };
  return visit(0);
}

const KINDS: readonly Claimant[] = ['a', 'b', 'c'].flatMap((project) =>
  [1, 2, 3].flatMap((size) => [0, 1].map((priority) => ({ project, size, priority }))),
);

function fleetsOf(count: number): Claimant[][] {
  if (count === 0) return [[]];
  return fleetsOf(count - 1).flatMap((fleet) => {
    const last = fleet.at(-1);
    return KINDS.slice(last === undefined ? 0 : KINDS.indexOf(last)).map((kind) => [...fleet, kind]);
  });
}

const LIMITS = [
  { a: 1, b: 1, c: 1 },
  { a: 1, b: 2, c: 1 },
  { a: 2, b: 2, c: 0 },
];

/** Fleets of up to four instances whose evictions come back to where they were, and all evictions that were tried. */
function explore(sparesLenders: boolean, givesUpAll: boolean) {
  const circles: string[] = [];
  let evictions = 0;
  for (const claimants of [2, 3, 4].flatMap(fleetsOf)) {
    for (const limits of LIMITS) {
      for (const hostCapacity of [3, 4]) {
        const fleet = { claimants, limits, hostCapacity, givesUpAll, sparesLenders };
        evictions += turnsOf(fleet, 0b0011).filter(({ kind }) => kind !== 'place').length;
        const circle = circleOf(fleet);
        if (circle !== undefined) circles.push(`${JSON.stringify(fleet)}: ${circle}`);
      }
    }
  }
  return { circles, evictions };
}

it.each([
  ['lower priorities only', false],
  ['every priority, and those who borrow spare lenders', true],
])('ends evictions in every fleet, whoever has its turn, where borrowers give up %s', (_, givesUpAll) => {
  const { circles, evictions } = explore(true, givesUpAll);
  expect(circles).toEqual([]);
  expect(evictions).toBeGreaterThan(1_000);
});

it('goes round where borrowers give up every priority, and evict lenders by it', () => {
  expect(explore(false, true).circles.length).toBeGreaterThan(0);
});

/** Priorities of what runs, the highest first. */
function rankOf({ claimants }: Fleet, running: number): number[] {
  return claimants.flatMap(({ priority }, n) => (running & (1 << n) ? [priority] : [])).toSorted((a, b) => b - a);
}

/** In the order of dictionaries; a list goes before those that it begins. */
function isLower(before: readonly number[], after: readonly number[]): boolean {
  const at = after.findIndex((one, n) => one !== before[n]);
  return at >= 0 && (at >= before.length || (before[at] ?? 0) < (after[at] ?? 0));
}

it('raises the priorities of what runs with each turn, where borrowers give up lower ones only', () => {
  let turns = 0;
  for (const claimants of [2, 3, 4].flatMap(fleetsOf)) {
    const fleet = { claimants, limits: { a: 1, b: 2, c: 1 }, hostCapacity: 3, givesUpAll: false, sparesLenders: true };
    for (let running = 0; running < 1 << claimants.length; running++) {
      const wrong = turnsOf(fleet, running).filter(({ next }) => !isLower(rankOf(fleet, running), rankOf(fleet, next)));
      if (wrong.length > 0) throw new Error(`${JSON.stringify(fleet)}: ${running} to ${wrong[0]?.next}`);
      turns += turnsOf(fleet, running).length;
    }
  }
  expect(turns).toBeGreaterThan(10_000);
});
