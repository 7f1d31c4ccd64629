import type { PlacementStore } from '#libs/placement/port/placement-store';
import { type Api, openApi } from './api';

/**
 * A test of one thing that clients rely on, with an API and an empty store of its own. `env` are settings of the
 * service.
 */
export type Story = (
  sentence: string,
  tell: (api: Api) => Promise<void>,
  env?: Readonly<Record<string, string>>,
) => void;

/** Runs stories on empty stores made by `openStore`. */
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
