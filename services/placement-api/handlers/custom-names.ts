import type { HttpError } from '../http/http-error';
import type { Placement } from '../placement';
import { unexpected } from './found';

type Catalogue = 'resource_class' | 'trait';

/** Puts a name into the catalogue; false when it was there. */
export async function createName(placement: Placement, catalogue: Catalogue, name: string): Promise<boolean> {
  const result = await placement.commit({ kind: 'create_name', catalogue, name });
  if (result.kind !== 'committed' && result.kind !== 'exists') throw unexpected(result);
  return result.kind === 'committed';
}

/** Takes a name out of the catalogue. @throws HttpError as `refusals` say, when it is not there or somebody uses it. */
export async function deleteName(
  placement: Placement,
  catalogue: Catalogue,
  name: string,
  refusals: { readonly not_found: () => HttpError; readonly in_use: () => HttpError },
): Promise<void> {
  const result = await placement.commit({ kind: 'delete_name', catalogue, name });
  if (result.kind === 'committed') return;
  throw result.kind === 'not_found' || result.kind === 'in_use' ? refusals[result.kind]() : unexpected(result);
}
