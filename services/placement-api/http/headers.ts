import type { FastifyRequest } from 'fastify';

/** The type of everything that the API takes and gives. */
export const JSON_TYPE = 'application/json';

/** The type of a body without its parameters; undefined when none is told. */
export function mediaTypeOf(request: FastifyRequest): string | undefined {
  return headerOf(request, 'content-type')?.split(';')[0]?.trim().toLowerCase() || undefined;
}

/** A header as one text, undefined when there is none. */
export function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}
