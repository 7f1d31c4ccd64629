import { BerthError } from '#libs/domain/errors';
import { mustSucceed, type RedfishAnswer, type RedfishRequest } from './redfish-http';

/** Tries to write against others who write the same, and against what services make of ETags. */
const MAX_TRIES = 10;

/**
 * Writes a resource by what it is now, guarded by its ETag as far as its service can compare ETags.
 *
 * Services demand `If-Match` (428), or refuse the very ETag that they have given (412): weak ones never match by RFC 9110, some have
 * another for the header and for the body, some compare what was compressed. So a tag that is refused though the resource has it still
 * is tried without its `W/`, then as `*`, then not at all. A tag that is refused because others have written meanwhile is read again.
 *
 * @param bodyOf  what to write over what is there; undefined for nothing
 * @returns the answer, which may say no; undefined when there was nothing to write
 * @throws BerthError `unavailable / controller_busy` when others keep writing; of `read` and `send`
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

/** What `If-Match` may say, the strictest first. */
function guardsBy(tag: string | undefined): readonly (string | undefined)[] {
  if (tag === undefined) return [undefined, '*'];
  return [tag, ...(tag.startsWith('W/') ? [tag.slice(2)] : []), '*', undefined];
}
