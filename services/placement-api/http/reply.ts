import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '#libs/domain/clock';
import type { PlacementApiConfig } from '../options';
import { JSON_TYPE, mediaTypeOf } from './headers';
import { errorDocument, errorText, type HttpError } from './http-error';
import { type Microversion, SINCE } from './microversion';
import type { Answer } from './request';

/** Sends a handler's answer. */
export function sendAnswer(
  reply: FastifyReply,
  answer: Answer,
  version: Microversion,
  { clock, config }: { readonly clock: Clock; readonly config: Pick<PlacementApiConfig, 'pathPrefix'> },
): FastifyReply {
  const { status, body, json = body && JSON.stringify(body), location, lastModifiedMs } = answer;
  const { request } = reply;
  reply.code(status);
  if (location !== undefined)
    reply.header('location', `${request.protocol}://${request.host}${config.pathPrefix}${location}`);
  if (lastModifiedMs !== undefined && version >= SINCE.cacheHeaders) {
    const atMs = lastModifiedMs === 'now' ? clock.now() : lastModifiedMs;
    reply.header('last-modified', new Date(atMs).toUTCString()).header('cache-control', 'no-cache');
  }
  return json === undefined ? reply.send() : reply.send(jsonBytes(reply, json));
}

/** Sends an error: as JSON, or as HTML or text to a client that accepts no JSON. */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  error: HttpError,
  version: Microversion | undefined,
): FastifyReply {
  reply.code(error.status).headers(error.headers);
  const { id: requestId, method, headers } = request;
  const accept = !headers.accept || headers.accept === '*/*' ? JSON_TYPE : headers.accept;
  const refused = { requestId, method, accept, mediaType: mediaTypeOf(headers), version };
  const type = accept === JSON_TYPE ? JSON_TYPE : request.accepts().type(['text/html', JSON_TYPE]);
  if (type === JSON_TYPE) return reply.send(jsonBytes(reply, JSON.stringify(errorDocument(error, refused))));
  const shown = type === 'text/html' ? type : 'text/plain';
  return reply.type(`${shown}; charset=UTF-8`).send(errorText(error, refused, shown));
}

/** Bytes, so that fastify adds no charset to the content type, which clients compare. */
export function jsonBytes(reply: FastifyReply, json: string): Buffer {
  reply.header('content-type', JSON_TYPE);
  // Most bodies are ASCII, and latin1 copies those ten times as fast.
  return Buffer.from(json, Buffer.byteLength(json) === json.length ? 'latin1' : 'utf8');
}
