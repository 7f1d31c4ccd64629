import { type ConfigOf, durationOption, intOption } from '../runtime/config';
import { addressOptions } from '../runtime/options';

/** Settings of services that use the placement store. */
export const placementOptions = {
  storeUrl: addressOptions.storeUrl,
  cell: addressOptions.cell,
  storeTimeoutMs: durationOption({
    env: 'BERTH_STORE_TIMEOUT_MS',
    default: 5_000,
    min: 100,
    max: 60_000,
    help: "Time limit of the store's silence; then its connection counts as dead and operations fail.",
  }),
  storeReplicas: intOption({
    env: 'BERTH_STORE_REPLICAS',
    default: 0,
    min: 0,
    max: 8,
    unit: 'replicas',
    help: 'Replicas of the store that must have a write before it counts as done; 0 does not wait for them.',
  }),
  storeStreamLength: intOption({
    env: 'BERTH_STORE_STREAM_LENGTH',
    default: 100_000,
    min: 1_000,
    max: 10_000_000,
    unit: 'changes',
    help: 'Approximate number of changes that the store keeps for mirrors to catch up; a mirror further behind takes a snapshot.',
  }),
} as const;

export type PlacementConfig = ConfigOf<typeof placementOptions>;
