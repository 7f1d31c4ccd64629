/** A setting, or a value of one such as a filter or a weigher, that this release has no more. */
export interface Retired {
  readonly env: string;
  /** One name of a list; without it, the setting itself. */
  readonly value?: string;
  /** The first release without it. */
  readonly since: string;
  /** The remedy: `set BERTH_...`. */
  readonly instead: string;
}

/** Removed and renamed settings, for whoever upgrades: a line goes in when an option, a filter or a weigher goes. None has yet. */
export const RETIRED: readonly Retired[] = [];
