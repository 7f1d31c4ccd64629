import { HttpError } from './http-error';

/** The parameters of a query string, in order; names may be repeated. */
export class Query {
  readonly #values = new Map<string, string[]>();

  /** @throws HttpError 400 when it is not UTF-8 or has more than `maxParameters`. */
  constructor(text: string, maxParameters: number) {
    const pairs = text === '' ? [] : text.split('&').filter((pair) => pair !== '');
    if (pairs.length > maxParameters) {
      throw new HttpError(400, `Invalid query string parameters: more than ${maxParameters} of them`);
    }
    for (const pair of pairs) {
      const [name = '', ...rest] = pair.split('=');
      const values = this.#values.get(decode(name));
      const value = decode(rest.join('='));
      if (values) values.push(value);
      else this.#values.set(decode(name), [value]);
    }
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  /** The last value of a name, as in WebOb. */
  last(name: string): string | undefined {
    return this.#values.get(name)?.at(-1);
  }

  names(): string[] {
    return [...this.#values.keys()];
  }

  /** The last value of each name, for validation by a schema. */
  asObject(): Record<string, string> {
    return Object.fromEntries([...this.#values].map(([name, values]) => [name, values.at(-1) ?? '']));
  }
}

/** Decodes percent escapes; a percent sign that begins none stays. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' ').replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
  } catch {
    throw new HttpError(400, `Invalid query string parameters: not UTF-8 in percent encoding: ${text}`);
  }
}

/** The part of a URL after its `?`. */
export function queryStringOf(url: string): string {
  const start = url.indexOf('?');
  return start < 0 ? '' : url.slice(start + 1);
}
