import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { errorDocument, HttpError } from './http-error';

/**
 * Answers what is no HTTP, or too much of it. There is no request that hooks could see: the error document goes right to
 * the socket, and the connection ends with it.
 */
export function refuseUnreadable(thrown: Error, socket: Socket, requestId: string): void {
  const { code } = thrown as NodeJS.ErrnoException;
  const error = code === 'HPE_HEADER_OVERFLOW' ? new HttpError(431) : new HttpError(400, 'The request is not HTTP');
  const type = 'application/json';
  const refused = { requestId, method: '', accept: type, mediaType: undefined, version: undefined };
  const body = JSON.stringify(errorDocument(error, refused));
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    `content-type: ${type}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-openstack-request-id: ${requestId}`,
    'connection: close',
  ];
  if (socket.writable && code !== 'ECONNRESET') socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroy();
}
