import type { Clock } from '#libs/domain/clock';
import type { FleetHost } from '../api/fleet';
import type { HistoryOf } from '../api/history';

interface Parts {
  readonly clock: Clock;
  readonly stepMs: number;
  readonly points: number;
}

/** Usage and capacity over time, by class: a ring of points. */
class Ring {
  readonly #points: Float32Array;

  constructor(
    readonly classes: readonly string[],
    length: number,
  ) {
    this.#points = new Float32Array(length * classes.length * 2).fill(Number.NaN);
  }

  put(at: number, used: readonly number[], capacity: readonly number[]): void {
    const width = this.classes.length * 2;
    for (const i of this.classes.keys()) {
      this.#points[at * width + 2 * i] = used[i] ?? 0;
      this.#points[at * width + 2 * i + 1] = capacity[i] ?? 0;
    }
  }

  /** From the oldest point on; null for missing points. */
  read(index: number, order: readonly number[]): { used: (number | null)[]; capacity: (number | null)[] } {
    const width = this.classes.length * 2;
    const at = (offset: number) =>
      order.map((point) => {
        const value = this.#points[point * width + 2 * index + offset] ?? Number.NaN;
        return Number.isNaN(value) ? null : value;
      });
    return { used: at(0), capacity: at(1) };
  }
}

/** Usage of hosts and zones, sampled while the console runs; lost with it. */
export class History {
  readonly #ofHosts = new Map<string, Ring>();
  readonly #ofZones = new Map<string, Ring>();
  #taken = 0;
  #lastMs = 0;

  constructor(private readonly parts: Parts) {}

  /** Adds a point for every host, and for the sums of each zone. */
  sample(classes: readonly string[], hosts: Iterable<FleetHost>): void {
    const at = this.#taken % this.parts.points;
    const zones = new Map<string, { used: number[]; capacity: number[] }>();
    const seen = new Set<string>();
    for (const { name, zone, used, capacity } of hosts) {
      seen.add(name);
      this.#ring(this.#ofHosts, name, classes).put(at, used, capacity);
      const sum = zones.get(zone) ?? { used: classes.map(() => 0), capacity: classes.map(() => 0) };
      zones.set(zone, sum);
      for (const i of classes.keys()) {
        sum.used[i] = (sum.used[i] ?? 0) + (used[i] ?? 0);
        sum.capacity[i] = (sum.capacity[i] ?? 0) + (capacity[i] ?? 0);
      }
    }
    for (const [zone, { used, capacity }] of zones) this.#ring(this.#ofZones, zone, classes).put(at, used, capacity);
    for (const name of this.#ofHosts.keys()) if (!seen.has(name)) this.#ofHosts.delete(name);
    for (const name of this.#ofZones.keys()) if (!zones.has(name)) this.#ofZones.delete(name);
    this.#taken += 1;
    this.#lastMs = this.parts.clock.now();
  }

  ofHost(name: string): HistoryOf {
    return this.#read(this.#ofHosts.get(name));
  }

  ofZone(zone: string): HistoryOf {
    return this.#read(this.#ofZones.get(zone));
  }

  #read(ring: Ring | undefined): HistoryOf {
    const { stepMs, points } = this.parts;
    const count = Math.min(this.#taken, points);
    const order = Array.from({ length: count }, (_, i) => (this.#taken - count + i) % points);
    const classes = ring?.classes ?? [];
    return {
      stepMs,
      lastMs: this.#lastMs,
      classes: Object.fromEntries(classes.map((name, i) => [name, (ring as Ring).read(i, order)])),
    };
  }

  #ring(rings: Map<string, Ring>, name: string, classes: readonly string[]): Ring {
    const present = rings.get(name);
    // The fleet's classes are few and seldom change: then its history starts over.
    if (present?.classes === classes) return present;
    const ring = new Ring(classes, this.parts.points);
    rings.set(name, ring);
    return ring;
  }
}
