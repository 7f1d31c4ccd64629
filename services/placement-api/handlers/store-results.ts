import type { Provider } from '#libs/domain/provider';
import type { CommitResult } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { ERROR_CODE, HttpError } from '../http/http-error';
import type { Answer } from '../http/request';
import type { Placement } from '../placement';

/** The provider of a path. @throws HttpError 404 */
export function requireProvider(view: PlacementView, uuid: string): Provider {
  const provider = view.provider(uuid);
  if (provider) return provider;
  throw noSuchProvider(uuid);
}

function noSuchProvider(uuid: string): HttpError {
  return new HttpError(404, `No resource provider with uuid ${uuid} found`);
}

/** A part of a provider, with its generation as a guard. */
export function partOf(
  { generation, updatedAtMs }: Provider,
  part: object,
  lastModifiedMs: Answer['lastModifiedMs'] = updatedAtMs,
): Answer {
  return { status: 200, body: { ...part, resource_provider_generation: generation }, lastModifiedMs };
}

/** A write that lost against a concurrent one: the client must read and decide again. */
export function conflict(detail: string): HttpError {
  return new HttpError(409, detail, ERROR_CODE.concurrentUpdate);
}

/** The same for a write to a part of a provider. */
export function providerConflict(): HttpError {
  return conflict("Resource provider's generation already changed. Please update the generation and try again.");
}

/** The errors for a command's possible refusals; none is needed for a missing provider. */
export type Refusals = {
  readonly [K in CommitResult['kind']]?: (result: Extract<CommitResult, { kind: K }>) => Error | undefined;
};

/** @throws the error of `refusals` for a refused command. */
export function requireCommitted(result: CommitResult, refusals: Refusals): void {
  if (result.kind !== 'committed' && result.kind !== 'unchanged') throw refused(result, refusals);
}

/** The error for a refusal; for one that the command can't have, a defect. */
export function refused(result: CommitResult, refusals: Refusals): Error {
  const refusal = refusals[result.kind] as ((result: CommitResult) => Error | undefined) | undefined;
  const error = refusal?.(result);
  if (error) return error;
  if (result.kind === 'not_found' && result.subject === 'provider') return noSuchProvider(result.key);
  return new Error(`the store answered ${JSON.stringify(result)}`);
}

/** Creates a custom name in a catalogue; false when it exists. */
export async function createName(
  placement: Placement,
  catalogue: 'resource_class' | 'trait',
  name: string,
): Promise<boolean> {
  const result = await placement.commit({ kind: 'create_name', catalogue, name });
  if (result.kind === 'committed' || result.kind === 'exists') return result.kind === 'committed';
  throw refused(result, {});
}
