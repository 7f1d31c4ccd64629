import { berth } from '#generated/berth';
import {
  type CellSummary,
  MAX_HOST_CLASSES,
  MAX_REFUSED_SHAPES,
  MAX_SHAPE_CHARS,
  MAX_ZONES,
} from '../domain/cells/cell-summary';
import { invalidArgument } from '../domain/errors';
import { name, requiredName, requiredNumber, traits, whole } from './checks';
import { NO_RULES, ruled } from './field-rules';
import { count, flag, list } from './fields';
import { MAX_NAMES, MAX_RESOURCE_CLASSES } from './limits';
import { mapped, message, type PlainOf } from './message';

const wire = berth.cell.v1;

/** Places in the summary's list of traits. */
const places = list(count, MAX_NAMES);

const hostClass = message(wire.HostClass, {
  zone: name,
  hostCount: requiredNumber,
  traits: places,
  someTraits: places,
  /** In the order of the summary's resource classes. */
  mostFree: list(whole, Infinity),
  totalFree: list(whole, Infinity),
});

const refusedShape = message(wire.RefusedShape, {
  shape: ruled(NO_RULES, (value: string, path: string) => {
    if (value.length > MAX_SHAPE_CHARS) throw invalidArgument('too_long', `${path} is too long`, path);
    return value;
  }),
  count,
});

/** Names stand in it once, and classes refer to them by their places. */
const summaryOfPlaces = message(
  wire.CellSummary,
  {
    digest: whole,
    hostCount: count,
    availableCount: count,
    instanceCount: count,
    traits,
    resourceClasses: list(requiredName, MAX_RESOURCE_CLASSES),
    commonTraits: places,
    classes: list(hostClass, MAX_HOST_CLASSES),
    refused: list(refusedShape, MAX_REFUSED_SHAPES),
    zones: list(requiredName, MAX_ZONES),
    abridged: flag,
  },
  {
    path: 'summary',
    check({ traits: names, commonTraits, classes }, path) {
      checkPlaces(commonTraits, names, `${path}.common_traits`);
      for (const [index, one] of classes.entries()) {
        checkPlaces(one.traits, names, `${path}.classes[${index}].traits`);
        checkPlaces(one.someTraits, names, `${path}.classes[${index}].some_traits`);
      }
    },
  },
);
type SummaryOfPlaces = PlainOf<typeof summaryOfPlaces>;

/** A summary as it travels. */
export const cellSummaryCodec = mapped(summaryOfPlaces, namesOfPlaces, placesOfNames);

function checkPlaces(values: readonly number[], names: readonly string[], path: string): void {
  const unknown = values.find((place) => place >= names.length);
  if (unknown === undefined) return;
  throw invalidArgument('unknown_place', `${path} names no place of traits: ${unknown}`, path);
}

function namesOfPlaces(summary: SummaryOfPlaces): CellSummary {
  const { traits: names, resourceClasses, commonTraits, classes, abridged, ...rest } = summary;
  const namesAt = (found: readonly number[]) => new Set(found.map((place) => names[place] as string));
  return {
    ...rest,
    commonTraits: namesAt(commonTraits),
    classes: classes.map(({ zone, hostCount, traits: all, someTraits, mostFree, totalFree }) => {
      const free = resourceClasses.map((resourceClass, n) => {
        return [resourceClass, { most: mostFree[n] ?? 0, total: totalFree[n] ?? 0 }] as const;
      });
      return {
        zone,
        hostCount,
        traits: namesAt(all),
        someTraits: namesAt(someTraits),
        free: Object.fromEntries(free.filter(([, { most }]) => most > 0)),
      };
    }),
    isAbridged: abridged,
  };
}

function placesOfNames(summary: CellSummary): SummaryOfPlaces {
  const traitPlaces = new Map<string, number>();
  const classPlaces = new Map<string, number>();
  const placeIn = (known: Map<string, number>) => (named: string) => {
    const place = known.get(named) ?? known.size;
    known.set(named, place);
    return place;
  };
  const { isAbridged, ...rest } = summary;
  const commonTraits = [...summary.commonTraits].map(placeIn(traitPlaces));
  for (const { free } of summary.classes) Object.keys(free).forEach(placeIn(classPlaces));
  const resourceClasses = [...classPlaces.keys()];
  const classes = summary.classes.map(({ zone, hostCount, traits: all, someTraits, free }) => ({
    zone,
    hostCount,
    traits: [...all].map(placeIn(traitPlaces)),
    someTraits: [...someTraits].map(placeIn(traitPlaces)),
    mostFree: resourceClasses.map((named) => atMost(free[named]?.most)),
    totalFree: resourceClasses.map((named) => atMost(free[named]?.total)),
  }));
  return { ...rest, traits: [...traitPlaces.keys()], resourceClasses, commonTraits, classes, abridged: isAbridged };
}

/**
 * An amount as the wire has it. A sum over many hosts may be beyond what it can say, and one agent that reports all that it may must not
 * make the summary of its cell unreadable.
 */
function atMost(amount = 0): number {
  return Math.min(amount, Number.MAX_SAFE_INTEGER);
}
