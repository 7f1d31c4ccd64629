/** Headers of a request: lower-case names, as Node gives them. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The value of a header that is sent once; undefined when it is absent or empty. */
export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  const text = Array.isArray(value) ? value.join(',') : value;
  return text === undefined || text === '' ? undefined : text;
}
