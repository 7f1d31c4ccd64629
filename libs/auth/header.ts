import type { IncomingHttpHeaders } from 'node:http';

/** The value of a header; undefined when it is absent or empty. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return (Array.isArray(value) ? value.join(',') : value) || undefined;
}
