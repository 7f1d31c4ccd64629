import { type Random, seededRandom, seedOf } from '#libs/domain/random';

/** An action on a world. */
export interface Action<W> {
  /** Its number in the plan of its seed, by which it is kept or left out. */
  readonly number: number;
  /** From the start of the run. */
  readonly afterMs: number;
  readonly kind: string;
  readonly perform: (world: W) => void;
}

/** A kind of action. */
export interface Kind<W> {
  /** The share of seeds that contain it. */
  readonly share: number;
  /** Its frequency in those, relative to other kinds. */
  readonly weight: number;
  /** Draws one action from its own randomness. */
  readonly prepare: (random: Random) => Action<W>['perform'];
}

export function kind<W>(share: number, weight: number, prepare: Kind<W>['prepare']): Kind<W> {
  return { share, weight, prepare };
}

/** All actions begin within this time. All services are up by its start. */
export const HORIZON_MS = 30_000;
const START_UP_MS = 3_000;

/**
 * The plan of a seed. Each seed has some of the kinds and not others ("swarm testing": Groce and others, 2012), because
 * faults hide one another. Each action has randomness of its own, so that leaving one out changes no other.
 *
 * @param focus  kinds that are always there, and happen more often; of others there are fewer then
 */
export function drawPlan<W>(
  all: Readonly<Record<string, Kind<W>>>,
  seed: number,
  actionCount: number,
  focus: readonly string[] = [],
): Action<W>[] {
  const random = seededRandom(seedOf(`${seed} kinds`));
  const isFocus = (name: string) => focus.includes(name);
  const shareOf = ({ share }: Kind<W>) => (focus.length > 0 && share < 1 ? share * BESIDE_FOCUS : share);
  const kinds = Object.entries(all)
    .filter(([name, one]) => random.next() < shareOf(one) || isFocus(name))
    .map(([name, one]): [string, Kind<W>] => [
      name,
      isFocus(name) ? { ...one, weight: FOCUS_FACTOR * one.weight } : one,
    ]);
  const sum = kinds.reduce((total, [, { weight }]) => total + weight, 0);
  const plan = Array.from({ length: actionCount }, (_, number) => {
    const own = seededRandom(seedOf(`${seed} action ${number}`));
    const [name, { prepare }] = drawn(kinds, own.next() * sum);
    const afterMs = START_UP_MS + own.next() * (HORIZON_MS - START_UP_MS);
    return { number, afterMs, kind: name, perform: prepare(own) };
  });
  return plan.sort((a, b) => a.afterMs - b.afterMs);
}

const FOCUS_FACTOR = 3;
const BESIDE_FOCUS = 0.7;

/** The kind at a place on the line of weights. */
function drawn<W>(kinds: readonly [string, Kind<W>][], place: number): [string, Kind<W>] {
  let left = place;
  for (const one of kinds) {
    left -= one[1].weight;
    if (left < 0) return one;
  }
  return kinds[0] as [string, Kind<W>];
}
