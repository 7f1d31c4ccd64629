import { BerthError } from '#libs/domain/errors';
import { mustSucceed, type RedfishAnswer, type RedfishRequest } from './redfish-http';

/** Limit of the tries against concurrent writers and services' ETag quirks. */
const MAX_TRIES = 10;

/**
 * Updates a resource based on its present content, guarded by its ETag as far as its service can compare ETags.
 *
 * Services demand `If-Match` (428), or refuse the very ETag that they sent (412): weak ones never match by RFC 9110,
 * some services have different ones for header and body, some compare the compressed form. So a tag that is refused
 * though it is still current is tried without its `W/`, then as `*`, then not at all. A tag refused because of a
 * concurrent write is read again.
 *
 * @param bodyOf  the update for the present content; undefined for none
 * @returns the answer, possibly an error; undefined without an update
 * @throws BerthError `unavailable / controller_busy` when others keep writing; errors of `read` and `send`
 */
export async function patchResource(
  link: string,
  { read, send }: ResourceAccess,
  bodyOf: (present: RedfishAnswer) => object | undefined,
): Promise<RedfishAnswer | undefined> {
  let refusedTag: string | undefined;
  let rung = 0;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const present = mustSucceed(await read(link), link);
    const body = bodyOf(present);
    if (body === undefined) return undefined;
    const tag = present.headers.get('etag') ?? (present.body['@odata.etag'] as string | undefined);
    if (refusedTag !== undefined && refusedTag === (tag ?? '')) rung++;
    const guards = guardsBy(tag);
    const ifMatch = guards[Math.min(rung, guards.length - 1)];
    const answer = await send(link, { method: 'PATCH', body, ifMatch });
    if (answer.status !== 412 && answer.status !== 428) return answer;
    if (rung >= guards.length - 1) return answer;
    refusedTag = tag ?? '';
  }
  throw new BerthError('unavailable', 'controller_busy', `others keep writing ${link}`);
}

export interface ResourceAccess {
  readonly read: (link: string) => Promise<RedfishAnswer>;
  readonly send: (link: string, request: RedfishRequest) => Promise<RedfishAnswer>;
}

/** The values of `If-Match` to try, strictest first. */
function guardsBy(tag: string | undefined): readonly (string | undefined)[] {
  if (tag === undefined) return [undefined, '*'];
  return [tag, ...(tag.startsWith('W/') ? [tag.slice(2)] : []), '*', undefined];
}
