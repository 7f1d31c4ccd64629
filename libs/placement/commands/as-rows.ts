import type { Consumer } from '../../domain/consumer';
import type { Provider } from '../../domain/provider';
import type { CatalogueName, Revised, Usage } from '../store';
import type { Stored, StoredConsumer, Tables } from './tables';

/* Stored rows as readers of the store see them. */

export function asProvider(stored: Stored<Tables['provider']>, generation: number): Revised<Provider> {
  const { host: _, ...provider } = stored.row;
  return { ...provider, generation, revision: stored.revision };
}

export function asUsage(providerUuid: string, stored: Stored<Tables['usage']>): Revised<Usage> {
  return { providerUuid, ...stored.row, revision: stored.revision };
}

export function asConsumer({ row, revision }: Stored<StoredConsumer>): Revised<Consumer> {
  const { groupHost: _, ...consumer } = row;
  return { ...consumer, revision };
}

export function asCatalogueName(name: string, stored: Stored<{ createdAtMs: number }>): Revised<CatalogueName> {
  return { name, ...stored.row, revision: stored.revision };
}
