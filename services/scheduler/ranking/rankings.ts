import type { Fleet } from '../fleet/fleet';
import { Ranking, type RankingSettings } from './ranking';
import type { Shape } from './shape';

/** The rankings of the shapes that were asked for lately. */
export class Rankings {
  private readonly byKey = new Map<string, Ranking>();

  /** `maxRankedHosts` bounds their memory: hosts times shapes, at some 12 bytes each. One shape is always kept. */
  constructor(
    private readonly fleet: Fleet,
    private readonly settings: RankingSettings,
    private readonly maxRankedHosts: number,
  ) {}

  get count(): number {
    return this.byKey.size;
  }

  /** The ranking of a shape as of now. The fleet must be fresh. */
  of(shape: Shape): Ranking {
    const known = this.byKey.get(shape.key);
    this.byKey.delete(shape.key);
    const ranking = known?.isCurrent ? known : new Ranking(shape, this.fleet, this.settings);
    // The order of a map's keys is the order of their last use.
    this.byKey.set(shape.key, ranking);
    ranking.refresh();
    this.forgetOldest();
    return ranking;
  }

  private forgetOldest(): void {
    const most = Math.max(1, Math.floor(this.maxRankedHosts / this.fleet.columns.size));
    for (const key of this.byKey.keys()) {
      if (this.byKey.size <= most) return;
      this.byKey.delete(key);
    }
  }
}
