import { seededRandom } from '#libs/domain/random';
import { Mirror } from '#libs/placement/mirror/mirror';
import type { Change, Rows } from '#libs/placement/port/placement-store';
import { silentLog } from '#libs/runtime/log';
import { systemClock } from '#libs/runtime/system';
import type { CompleteSpec, SelectRequest } from '../scheduler/decision/complete-request';
import { type DecideParts, type Decision, decide } from '../scheduler/decision/decide';
import type { PricesInUse } from '../scheduler/decision/pick-hosts';
import { NO_PRICES, type Prices, pricesFrom, pricesOf } from '../scheduler/demand/prices';
import { Fleet } from '../scheduler/fleet/fleet';
import type { PendingClaim } from '../scheduler/fleet/pending-claims';
import type { DecideEntry, FlightEntry, ReadyEntry, SegmentEntry } from '../scheduler/flight/entries';
import type { SchedulerConfig } from '../scheduler/options';
import { KeptRanks } from '../scheduler/ranking/ranked-hosts';
import { equivalenceClassOf, forTenant } from '../scheduler/request/equivalence-class';
import { selectSettings } from '../scheduler/settings';
import { recordedStore, show } from './recorded-store';

/** Rows that a scene begins with, and what changed them while they were written down. */
interface Beginning {
  readonly rows: readonly Rows[];
  readonly changes: readonly FlightEntry[];
}

interface ScenePartsAt {
  readonly config: SchedulerConfig;
  readonly mirror: Mirror;
  readonly fleet: Fleet;
  readonly stream: (changes: readonly Change[]) => void;
  readonly pricing: RecordedPrices;
}

/** A scheduler's mirror, fleet, prices and settings at one moment of a record. */
export class Scene {
  readonly parts: DecideParts;
  readonly #claims = new Map<number, PendingClaim>();
  readonly #classes = new Map<string, ReturnType<typeof equivalenceClassOf>>();

  readonly config: SchedulerConfig;
  readonly mirror: Mirror;
  readonly fleet: Fleet;
  private readonly stream: (changes: readonly Change[]) => void;
  private readonly pricing: RecordedPrices;

  private constructor({ config, mirror, fleet, stream, pricing }: ScenePartsAt) {
    this.config = config;
    this.mirror = mirror;
    this.fleet = fleet;
    this.stream = stream;
    this.pricing = pricing;
    this.parts = decideParts(config, { fleet, pricing, keepsSelected: () => false });
  }

  /** At the `ready` entry of a segment. */
  static async open(segment: SegmentEntry, ready: ReadyEntry, { rows, changes }: Beginning): Promise<Scene> {
    const { config } = segment;
    const { store, stream } = recordedStore(rows, segment.revision);
    const mirror = await Mirror.open(store, { clock: systemClock(), random: seededRandom(0), log: silentLog });
    for (const entry of changes) show(entry, mirror, stream);
    const fleet = new Fleet(mirror, config, ready.places);
    const pricing = new RecordedPrices();
    pricing.set(ready.prices);
    const scene = new Scene({ config, mirror, fleet, stream, pricing });
    for (const [id, claim] of ready.pending) scene.#claims.set(id, claim);
    fleet.count([...scene.#claims.values()]);
    fleet.snapshot(ready.nowMs);
    return scene;
  }

  take(entry: Exclude<FlightEntry, DecideEntry>): void {
    if (entry.kind === 'read') this.fleet.snapshot(entry.nowMs);
    else if (entry.kind === 'hold') this.#hold(entry);
    else if (entry.kind === 'settle') this.#settle(entry.ids);
    else if (entry.kind === 'prices') this.pricing.set(entry.prices);
    else show(entry, this.mirror, this.stream);
  }

  decide(request: SelectRequest, attempt: Parameters<typeof decide>[1]): Decision {
    return decide(request, attempt, this.parts);
  }

  /** One object for equal classes, as ranks are kept by it. */
  classOf(spec: CompleteSpec): ReturnType<typeof equivalenceClassOf> {
    const made = equivalenceClassOf(spec);
    const anybodys = this.#classes.get(made.key) ?? made;
    this.#classes.set(made.key, anybodys);
    return this.fleet.isTenant(spec.projectId) ? forTenant(anybodys, spec.projectId) : anybodys;
  }

  /** The same moment with other settings. */
  with(config: SchedulerConfig): DecideParts {
    const fleet = new Fleet(this.mirror, config, this.fleet.places());
    fleet.count([...this.#claims.values()]);
    return decideParts(config, { fleet, pricing: this.pricing, keepsSelected: () => true });
  }

  async close(): Promise<void> {
    this.fleet.close();
    await this.mirror.close();
  }

  #hold({ claims, isAssumed }: Extract<FlightEntry, { kind: 'hold' }>): void {
    for (const [id, claim] of claims) this.#claims.set(id, claim);
    const held = claims.map(([, claim]) => claim);
    if (isAssumed) this.fleet.hold(held);
    else this.fleet.count(held);
  }

  #settle(ids: readonly number[]): void {
    const settled = ids.flatMap((id) => this.#claims.get(id) ?? []);
    for (const id of ids) this.#claims.delete(id);
    this.fleet.settle(settled);
  }
}

type PartsOfFleet = Pick<DecideParts, 'fleet' | 'pricing' | 'keepsSelected'>;

function decideParts(config: SchedulerConfig, parts: PartsOfFleet): DecideParts {
  const settings = selectSettings(config);
  const { rank: rankHosts } = new KeptRanks(settings, parts.pricing, config.rankedHosts);
  return { ...parts, rankHosts, settings };
}

/** Prices as they were recorded. */
class RecordedPrices implements PricesInUse {
  prices: Prices = NO_PRICES;

  set(shapes: Prices['shapes']): void {
    this.prices = shapes.length === 0 ? NO_PRICES : pricesFrom(shapes);
  }

  asked(): ReturnType<PricesInUse['asked']> {
    return this.prices.shapes.filter(({ isAssumed }) => !isAssumed);
  }

  of(...[snapshot]: Parameters<PricesInUse['of']>): Prices {
    return pricesOf(this.asked(), snapshot);
  }
}
