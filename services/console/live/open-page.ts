import { invalidArgument } from '#libs/domain/errors';
import type { RehearsalsPage } from '../api/rehearsals';
import { readBuildsPage } from '../views/builds-page';
import { readCapacityPage } from '../views/capacity-page';
import { readHealthPage } from '../views/health-page';
import { readHostPage } from '../views/host-page';
import { readInstancePage } from '../views/instance-page';
import { instanceQuery, readInstancesPage } from '../views/instances-page';
import { readNovaPage } from '../views/nova-page';
import { readGuaranteesPage } from '../views/promises/guarantees-page';
import { readReservationsPage } from '../views/promises/reservations-page';
import { rangeOf } from './build-counts';
import type { Live } from './live';
import { publishFleet } from './publish-fleet';
import { type Sink, tell } from './topic';

/** Sends a page its data as long as it is open. Returns how to stop. */
type Page = (sink: Sink) => () => void;

const SHELL_MS = 1_000;
const HOST_MS = 300;
const FIGURES_MS = 1_000;
const CAPACITY_MS = 2_000;
const REREAD_MS = 3_000;
const INSTANCES_MS = 2_000;
const HEALTH_MS = 2_000;
const NOVA_MS = 3_000;
const GUARANTEES_MS = 3_000;
const RESERVATIONS_MS = 3_000;
const REHEARSALS_MS = 300;

/** The page of a stream's query. @throws BerthError `invalid_argument / bad_page`. */
export function openPage(live: Live, query: URLSearchParams): Page {
  const page = pageOf(live, query);
  return (sink) => {
    const stops = [
      tell(sink, live.clock, {
        event: 'shell',
        read: () => live.shell(),
        watch: (changed) => live.every(SHELL_MS, changed),
        minMs: SHELL_MS,
      }),
      page(sink),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  };
}

function pageOf(live: Live, query: URLSearchParams): Page {
  const page = query.get('page') ?? '';
  const name = query.get('name') ?? '';
  switch (page) {
    case 'fleet':
      return (sink) => publishFleet(live, sink, HOST_MS);
    case 'host':
      return telling(live, HOST_MS, () => readHostPage(live, name), hostWatch(live, name));
    case 'instance':
      return telling(live, HOST_MS, () => readInstancePage(live, name), instanceWatch(live, name));
    case 'instances': {
      const asked = instanceQuery(query);
      return telling(live, INSTANCES_MS, () => readInstancesPage(live, asked), instancesWatch(live));
    }
    case 'builds':
      return telling(live, FIGURES_MS, () => readBuildsPage(live, rangeOf(query)), buildsWatch(live));
    case 'health':
      return telling(
        live,
        HEALTH_MS,
        () => readHealthPage(live),
        (changed) => live.every(HEALTH_MS, changed),
      );
    case 'guarantees': {
      const flavor = query.get('flavor') ?? '';
      return telling(
        live,
        GUARANTEES_MS,
        () => readGuaranteesPage(live, flavor),
        (changed) => live.every(GUARANTEES_MS, changed),
      );
    }
    case 'reservations':
      return telling(
        live,
        RESERVATIONS_MS,
        () => readReservationsPage(live),
        (changed) => live.every(RESERVATIONS_MS, changed),
      );
    case 'rehearsals': {
      const { rehearsals } = live.parts;
      const read = () => ({ rehearsals: rehearsals.list(), maxRehearsals: rehearsals.max }) satisfies RehearsalsPage;
      return telling(live, REHEARSALS_MS, read, (changed) => rehearsals.onChange(changed));
    }
    case 'nova': {
      const request = query.get('request') ?? '';
      return telling(
        live,
        NOVA_MS,
        () => readNovaPage(live, request),
        (changed) => live.every(NOVA_MS, changed),
      );
    }
    case 'capacity':
      return telling(
        live,
        CAPACITY_MS,
        () => readCapacityPage(live),
        (changed) => live.every(CAPACITY_MS, changed),
      );
    case '':
      return () => () => {};
    default:
      throw invalidArgument(
        'bad_page',
        `page must be fleet, host, instances, instance, builds, capacity, guarantees, reservations, rehearsals, nova or health, not '${page}'`,
        'page',
      );
  }
}

type Watch = (changed: () => void) => () => void;

function telling(live: Live, minMs: number, read: () => unknown, watch: Watch): Page {
  return (sink) => tell(sink, live.clock, { event: 'page', read, watch, minMs });
}

/**
 * A host's page changes with its tree, with events of its instances, and with its drain; its doubts are read at an
 * interval.
 */
function hostWatch(live: Live, name: string): Watch {
  return (changed) => {
    const root = live.parts.mirror.host(name)?.providerUuid ?? '';
    return both(
      live.pulse.onBeat(({ roots, events }) => {
        const isOnIt = events.some(({ host, attempts }) => host === name || attempts.some((one) => one.host === name));
        if (roots === 'all' || roots.has(root) || isOnIt) changed();
      }),
      live.parts.drains.onChange((host) => host === name && changed()),
      live.every(REREAD_MS, changed),
    );
  };
}

/** An instance's page changes with its events; its claim, and changes with missed events, are read at an interval. */
function instanceWatch(live: Live, uuid: string): Watch {
  return (changed) =>
    both(
      live.pulse.onBeat(({ events }) => events.some(({ instanceUuid }) => instanceUuid === uuid) && changed()),
      live.every(REREAD_MS, changed),
    );
}

/** Instances change with events; what events were missed for is read at an interval. */
function instancesWatch(live: Live): Watch {
  return (changed) =>
    both(
      live.pulse.onBeat(({ events }) => events.length > 0 && changed()),
      live.every(REREAD_MS, changed),
    );
}

function buildsWatch(live: Live): Watch {
  return (changed) => both(live.every(FIGURES_MS, changed), live.parts.actions.onAction(changed));
}

function both(...stops: readonly (() => void)[]): () => void {
  return () => {
    for (const stop of stops) stop();
  };
}
