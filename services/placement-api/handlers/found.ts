import type { Provider } from '#libs/domain/provider';
import type { CommitResult } from '#libs/placement/store';
import type { PlacementView } from '#libs/placement/view';
import { ERROR_CODE, HttpError } from '../http/http-error';

/** The provider of a path. @throws HttpError 404 */
export function requireProvider(view: PlacementView, uuid = ''): Provider {
  const provider = view.provider(uuid);
  if (provider) return provider;
  throw new HttpError(404, `No resource provider with uuid ${uuid} found`);
}

/** A write lost against another one: read again, decide again. */
export function conflict(detail: string): HttpError {
  return new HttpError(409, detail, ERROR_CODE.concurrentUpdate);
}

/** What is not in hand when a handler meets a result that its command can't have: a defect. */
export function unexpected(result: CommitResult): Error {
  return new Error(`the store answered ${JSON.stringify(result)}`);
}
