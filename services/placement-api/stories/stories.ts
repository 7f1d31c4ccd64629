import type { PlacementStore } from '#libs/placement/store';
import { storiesOn } from '../testing/story';
import { errorStories } from './errors';
import { policyStories, tokenStories } from './policy';
import { rootStories } from './root';

/** What clients of the API rely on, whichever store is below it. `openStore` makes an empty one. */
export function describePlacementApi(name: string, openStore: () => Promise<PlacementStore>): void {
  const story = storiesOn(openStore);
  describe(`placement API on ${name}`, () => {
    describe('root', () => rootStories(story));
    describe('errors', () => errorStories(story));
    describe('policy', () => policyStories(story));
    describe('tokens', () => tokenStories(story));
  });
}
