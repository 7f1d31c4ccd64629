import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { frameCodec } from '../bus/amqp/batching/frame';
import type { Codec, Method } from './codec';

/** Bodies of each message, in base64, as they were encoded before messages were tables. Empty bodies among them. */
const RECORDED = JSON.parse(readFileSync(join(__dirname, 'recorded-messages.json'), 'utf8')) as Readonly<
  Record<string, readonly string[]>
>;

function codecs(): ReadonlyMap<string, Codec<unknown>> {
  const files = readdirSync(__dirname).filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
  const values = files.flatMap((file) => Object.values(require(`./${file}`) as Record<string, unknown>));
  const found = [frameCodec, ...values].flatMap((value) => {
    const { request, response } = Object(value) as Partial<Method<unknown, unknown>>;
    return request && response ? [request, response] : [value as Codec<unknown>];
  });
  return new Map(found.map((one) => [(Object(one) as Codec<unknown>).type, one]));
}

it.each(Object.entries(RECORDED))('encodes %s to the bytes that it was decoded from', (type, bodies) => {
  const codec = codecs().get(type) as Codec<unknown>;
  const again = bodies.map((body) => codec.encode(codec.decode(Buffer.from(body, 'base64'))));
  expect(again.map((bytes) => Buffer.from(bytes).toString('base64'))).toEqual(bodies);
});
