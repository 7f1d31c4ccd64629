import { systemClock, systemRandom } from '#libs/runtime/system';
import { type Endpoint, openEndpoint } from '../placement-import/endpoint';
import { fixedToken } from '../placement-import/tokens';

/** A placement API as an administrator sees it, as fast as it answers. */
export function endpointAt(url: string, interrupted: AbortSignal = new AbortController().signal): Promise<Endpoint> {
  return openEndpoint({
    url,
    tokens: fixedToken('admin'),
    perSecond: 10_000,
    timeoutMs: 5_000,
    clock: systemClock(),
    random: systemRandom,
    interrupted,
    requestId: `req-${systemRandom.uuid()}`,
  });
}

/** Rows by uuid, without generations, which a copy may have higher. */
export function withoutGenerations<T extends { readonly generation: number; readonly uuid: string }>(
  rows: ReadonlyMap<string, T>,
): readonly Omit<T, 'generation'>[] {
  const others = [...rows.values()].sort((a, b) => (a.uuid < b.uuid ? -1 : 1));
  return others.map(({ generation: _generation, ...rest }) => rest);
}
