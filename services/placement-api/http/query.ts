import { badRequest, type HttpError } from './http-error';

/** The parameters of a URL's query string, in order; names may be repeated. */
export class Query {
  readonly #parameters: URLSearchParams;

  /** @throws HttpError 400 when it is not UTF-8 or has more than `maxParameters`. */
  constructor(url: string, maxParameters: number) {
    const start = url.indexOf('?');
    const text = start < 0 ? '' : url.slice(start);
    // A percent sign that begins no escape stays.
    if (!isDecodable(text.replaceAll(/%(?![0-9a-f]{2})/gi, '%25')))
      throw invalidQuery(`not UTF-8 in percent encoding: ${text.slice(1)}`);
    this.#parameters = new URLSearchParams(text);
    if (this.#parameters.size > maxParameters) throw invalidQuery(`more than ${maxParameters} of them`);
  }

  all(name: string): readonly string[] {
    return this.#parameters.getAll(name);
  }

  /** The last value of a name, as in WebOb. */
  last(name: string): string | undefined {
    return this.all(name).at(-1);
  }

  /** The last value of each name. */
  asObject(): Record<string, string> {
    return Object.fromEntries(this.#parameters);
  }
}

/** A refused query string. */
export function invalidQuery(detail: string): HttpError {
  return badRequest(`Invalid query string parameters: ${detail}`);
}

/** True when all percent signs begin escapes of valid UTF-8. */
export function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
