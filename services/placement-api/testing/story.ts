import type { PlacementStore } from '#libs/placement/store';
import { type Api, openApi } from './api';

/**
 * A test that tells one thing that a client relies on: a sentence, and what happens, on an API of its own that knows
 * nothing yet. `env` are settings of the service that the story is about.
 */
export type Story = (
  sentence: string,
  tell: (api: Api) => Promise<void>,
  env?: Readonly<Record<string, string>>,
) => void;

/** Stories on stores that `openStore` makes, empty ones. */
export function storiesOn(openStore: () => Promise<PlacementStore>): Story {
  return (sentence, tell, env) => {
    it(sentence, async () => {
      const api = await openApi(await openStore(), env);
      try {
        await tell(api);
      } finally {
        await api.close();
      }
    });
  };
}
