import { HttpError } from './http-error';

/** The parameters of a query string, in the order given; a name may stand more than once. */
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

  /** The last one counts, as in WebOb. */
  last(name: string): string | undefined {
    return this.#values.get(name)?.at(-1);
  }

  names(): string[] {
    return [...this.#values.keys()];
  }

  /** For a schema: the last value of each name. */
  asObject(): Record<string, string> {
    return Object.fromEntries([...this.#values].map(([name, values]) => [name, values.at(-1) ?? '']));
  }
}

/** A percent sign that begins no escape stands for itself. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' ').replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
  } catch {
    throw new HttpError(400, `Invalid query string parameters: not UTF-8 in percent encoding: ${text}`);
  }
}
