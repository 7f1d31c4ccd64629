import type { Provider } from '#libs/domain/provider';
import type { CommitResult } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { ERROR_CODE, HttpError } from '../http/http-error';
import type { Placement } from '../placement';

/** The provider of a path. @throws HttpError 404 */
export function requireProvider(view: PlacementView, uuid = ''): Provider {
  const provider = view.provider(uuid);
  if (provider) return provider;
  throw new HttpError(404, `No resource provider with uuid ${uuid} found`);
}

/** A write that lost against a concurrent one: the client must read and decide again. */
export function conflict(detail: string): HttpError {
  return new HttpError(409, detail, ERROR_CODE.concurrentUpdate);
}

/** The error for a result that the command cannot have: a defect. */
export function unexpected(result: CommitResult): Error {
  return new Error(`the store answered ${JSON.stringify(result)}`);
}

type Catalogue = 'resource_class' | 'trait';

/** Creates a custom name in a catalogue; false when it exists. */
export async function createName(placement: Placement, catalogue: Catalogue, name: string): Promise<boolean> {
  const result = await placement.commit({ kind: 'create_name', catalogue, name });
  if (result.kind !== 'committed' && result.kind !== 'exists') throw unexpected(result);
  return result.kind === 'committed';
}

/** Deletes a custom name from a catalogue. @throws HttpError made by `refusals` when it does not exist or is in use. */
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
