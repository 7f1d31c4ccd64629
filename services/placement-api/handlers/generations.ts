import type { Answer, ApiRequest } from '../http/request';
import type { Placement } from '../placement';
import { refused } from './store-results';

interface Body {
  readonly resource_providers?: Readonly<Record<string, number>>;
  readonly consumers?: Readonly<Record<string, number>>;
}

/** POST /berth/generations, Berth's own: raises generations to those of a placement service that it replaces. */
export async function raiseGenerations({ body }: ApiRequest, placement: Placement): Promise<Answer> {
  const { resource_providers: providers = {}, consumers = {} } = body() as Body;
  const result = await placement.commit({ kind: 'raise_generations', providers, consumers });
  if (result.kind === 'committed' || result.kind === 'unchanged') return { status: 204 };
  throw refused(result, {});
}
