import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { JSON_TYPE } from './headers';
import { badRequest, errorDocument, HttpError } from './http-error';
import { isDecodable } from './query';
import { REQUEST_ID_HEADER } from './request-log';

/**
 * Answers input that is not HTTP or exceeds the header limit. There is no request for the hooks, so the error document
 * is written to the socket, and the connection is closed.
 */
export function refuseUnreadable(thrown: Error, socket: Socket, requestId: string): void {
  const { code } = thrown as NodeJS.ErrnoException;
  const error = code === 'HPE_HEADER_OVERFLOW' ? new HttpError(431) : badRequest('The request is not HTTP');
  const refused = { requestId, method: '', accept: JSON_TYPE, mediaType: undefined, version: undefined };
  const body = JSON.stringify(errorDocument(error, refused));
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `${REQUEST_ID_HEADER}: ${requestId}`,
    'connection: close',
  ];
  if (socket.writable && code !== 'ECONNRESET') socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroy();
}

/** A URL that the router accepts: an undecodable path is escaped, repeated slashes at its beginning are merged. */
export function routableUrl(url: string): string {
  const [path = '', ...query] = url.replace(/^\/+/, '/').split('?');
  return [isDecodable(path) ? path : path.replaceAll('%', '%25'), ...query].join('?');
}

/**
 * A URL without the path prefix. One that lacks it stays as it is: some proxies remove the prefix, others leave it, and
 * health checks go past them.
 */
export function belowPrefix(url: string, prefix: string): string {
  if (prefix === '' || !url.startsWith(prefix)) return url;
  const rest = url.slice(prefix.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? routableUrl(rest) : url;
}
