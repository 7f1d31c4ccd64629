import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '#libs/auth/auth';
import { headerOf } from '#libs/auth/header';
import type { Log } from '#libs/runtime/log';
import type { Microversion } from './microversion';

/** OpenStack's header of request ids: a client's global one in a request, the service's own in an answer. */
export const REQUEST_ID_HEADER = 'x-openstack-request-id';
const GLOBAL_REQUEST_ID = /^req-[a-f0-9]{8}(-[a-f0-9]{4}){3}-[a-f0-9]{12}$/;
const MAX_URL_LENGTH = 2_048;

/** A request's own id and the global id that its client gave; one of another form is ignored, as in oslo.middleware. */
export function requestIds({ id, headers }: FastifyRequest) {
  const given = headerOf(headers, REQUEST_ID_HEADER);
  return {
    request_id: id,
    ...(given !== undefined && GLOBAL_REQUEST_ID.test(given) ? { global_request_id: given } : {}),
  };
}

/** Logs an answered request, with what Placement's own request log says of it. */
export function logAnswered(
  log: Log,
  request: FastifyRequest,
  reply: FastifyReply,
  known: { readonly principal?: Principal; readonly version?: Microversion },
): void {
  const { ip, method, originalUrl } = request;
  const { statusCode: status, elapsedTime } = reply;
  const url = originalUrl.length > MAX_URL_LENGTH ? `${originalUrl.slice(0, MAX_URL_LENGTH)}...` : originalUrl;
  const fields = {
    event: 'request_answered',
    ...requestIds(request),
    remote_address: ip,
    method,
    url,
    status,
    length: Number(reply.getHeader('content-length') ?? 0),
    microversion: known.version === undefined ? undefined : `1.${known.version}`,
    user_id: known.principal?.userId,
    project_id: known.principal?.projectId,
    elapsed_ms: Number(elapsedTime.toFixed(3)),
  };
  log.info(fields, 'request answered');
}
