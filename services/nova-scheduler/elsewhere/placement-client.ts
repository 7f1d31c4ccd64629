import { authorizedFetch, type Tokens } from '#libs/auth/authorized-fetch';
import { KeystoneHttp } from '#libs/auth/keystone-http';
import { KeystoneLogin, type LoginConfig } from '#libs/auth/keystone-login';
import type { Allocations } from '#libs/domain/consumer';
import { BerthError } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import type { RuntimeDeps } from '#libs/runtime/service';
import { ALLOCATION_REQUEST_VERSION } from '../objects/selection';

export interface PlacementConfig extends LoginConfig {
  readonly placementUrl: string;
  /** A token that does not expire; empty logs in to Keystone. */
  readonly placementToken: string;
  readonly placementTimeoutMs: number;
}

/** A consumer's allocations, and the generation that guards them; null for a consumer without any. */
export interface HeldAllocations {
  readonly allocations: Allocations;
  readonly generation: number | null;
}

/** A consumer as POST /allocations takes it. */
export interface ConsumerBody {
  readonly allocations: Readonly<Record<string, { readonly resources: Resources }>>;
  readonly mappings?: Readonly<Record<string, readonly string[]>>;
  readonly project_id: string;
  readonly user_id: string;
  readonly consumer_generation: number | null;
}

/** The end of a write: Placement refuses it by a status, with a code and a sentence. */
export type Written =
  | { readonly kind: 'written' }
  | { readonly kind: 'refused'; readonly status: number; readonly code: string; readonly detail: string };

/** A placement that is not Berth's, as claims need it. */
export interface PlacementClient {
  /** @throws BerthError `unavailable` */
  held(consumerUuid: string): Promise<HeldAllocations>;
  /** Writes all consumers or none. @throws BerthError `unavailable`, also when it may be written */
  write(consumers: Readonly<Record<string, ConsumerBody>>): Promise<Written>;
}

/** OpenStack's Placement by HTTP, with a token of Keystone's. */
export function openPlacementClient(
  config: PlacementConfig,
  deps: Pick<RuntimeDeps, 'clock' | 'log'>,
): PlacementClient & { close(): Promise<void> } {
  const keystone = new KeystoneHttp(config, deps);
  const { placementToken } = config;
  const fixed: Tokens = { token: async () => placementToken, forget() {} };
  const tokens = placementToken === '' ? new KeystoneLogin(keystone, config, deps) : fixed;
  const root = config.placementUrl.replace(/\/+$/, '');

  const call = async (method: 'GET' | 'POST', path: string, body?: unknown) => {
    const headers = { 'openstack-api-version': `placement ${ALLOCATION_REQUEST_VERSION}` };
    const signal = AbortSignal.timeout(config.placementTimeoutMs);
    const answer = await authorizedFetch(tokens, root + path, { method, headers, body, signal }).catch(unavailable);
    if (answer.status >= 500 || answer.status === 401 || answer.status === 403)
      return unavailable(new Error(`Placement answers ${answer.status} to ${method} ${path}`));
    return answer;
  };
  return {
    async held(uuid) {
      const { body } = await call('GET', `/allocations/${uuid}`);
      const { allocations = {}, consumer_generation: generation = null } = body as HeldBody;
      const amounts = Object.entries(allocations).map(([provider, { resources }]) => [provider, resources] as const);
      return { allocations: Object.fromEntries(amounts), generation };
    },
    async write(consumers) {
      const { status, body } = await call('POST', '/allocations', consumers);
      if (status === 204) return { kind: 'written' };
      const [{ code = '', detail = '' } = {}] = (body as ErrorsBody | undefined)?.errors ?? [];
      return { kind: 'refused', status, code, detail };
    },
    close: async () => keystone.close(),
  };
}

interface HeldBody {
  readonly allocations?: Readonly<Record<string, { readonly resources: Resources }>>;
  readonly consumer_generation?: number;
}

interface ErrorsBody {
  readonly errors?: readonly { readonly code?: string; readonly detail?: string }[];
}

function unavailable(thrown: unknown): never {
  const { message } = BerthError.from(thrown);
  throw new BerthError('unavailable', 'placement_unavailable', message, { cause: thrown });
}
