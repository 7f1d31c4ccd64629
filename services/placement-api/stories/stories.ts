import type { PlacementStore } from '#libs/placement/port/placement-store';
import { setQuota } from '#libs/testing/placement/projects/placement-store-quotas';
import { storiesOn } from '../testing/story';
import { allocationStories, manyAllocationStories } from './allocations';
import { candidateStories } from './candidates/candidates';
import { claimByIdStories } from './candidates/claims-by-id';
import { nestedCandidateStories } from './candidates/nested-candidates';
import { errorStories } from './errors';
import { inventoryStories } from './inventories';
import { aggregateStories, traitStories } from './labels';
import { policyStories, tokenStories } from './policy';
import { providerListStories, providerStories } from './providers';
import { raceStories } from './races';
import { reshaperStories } from './reshaper';
import { resourceClassStories } from './resource-classes';
import { rootStories } from './root';
import { treeStories } from './trees';
import { quotaStories, usageStories } from './usages';

/** All stories, on any store. `openStore` makes an empty one. */
export function describePlacementApi(name: string, openStore: () => Promise<PlacementStore>): void {
  let store: PlacementStore;
  const story = storiesOn(async () => {
    store = await openStore();
    return store;
  });
  describe(`placement API on ${name}`, () => {
    describe('root', () => rootStories(story));
    describe('errors', () => errorStories(story));
    describe('policy', () => policyStories(story));
    describe('tokens', () => tokenStories(story));
    describe('providers', () => providerStories(story));
    describe('lists of providers', () => providerListStories(story));
    describe('trees', () => treeStories(story));
    describe('inventories', () => inventoryStories(story));
    describe('aggregates', () => aggregateStories(story));
    describe('traits', () => traitStories(story));
    describe('resource classes', () => resourceClassStories(story));
    describe('allocations', () => allocationStories(story));
    describe('allocations of many', () => manyAllocationStories(story));
    describe('usages', () => usageStories(story));
    describe('quotas', () => quotaStories(story, (limits) => setQuota(store, 'project-1', { limits })));
    describe('candidates', () => candidateStories(story));
    describe('claims by id', () => claimByIdStories(story));
    describe('candidates of trees', () => nestedCandidateStories(story));
    describe('reshaper', () => reshaperStories(story));
    describe('races', () => raceStories(story));
  });
}
