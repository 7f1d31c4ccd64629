import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Service } from 'protobufjs';
import { stringify } from 'yaml';
import { queueArguments } from '#libs/bus/queue-arguments';
import { BUILD_REQUESTS, EVENTS_EXCHANGE, type QueueSpec, RPC_CONDUCTOR, RPC_SCHEDULER } from '#libs/contracts/queues';
import { readSchemas } from '../schema/files';
import { limitsOfMessages } from './limits-of-messages';

/** Messages for `build.requests`, and the messages of each event, by full name. */
const REQUESTS = ['berth.conductor.v1.BuildRequest', 'berth.conductor.v1.TerminateInstance'];
/** Keys of events, with their messages. */
const EVENTS: Readonly<Record<string, string>> = {
  'instance.{state}.{project}.{uuid}': 'berth.conductor.v1.InstanceEvent',
  'request.refused.{project}': 'berth.conductor.v1.BuildRefused',
  'flavor.{change}.{flavor}': 'berth.flavor.v1.FlavorEvent',
  'operator.{action}.{user}': 'berth.console.v1.OperatorAction',
};

/** A call: its queue, and its request and response by full name. */
interface Call {
  readonly name: string;
  readonly queue: string;
  readonly request: string;
  readonly response: string;
  readonly summary: string;
}

/** The public part of the wire contract as an AsyncAPI 3.0 document: clients' messages, calls and events. */
export function asyncApi(root: string): string {
  const calls = callsOf(root).filter(({ queue }) => queue.startsWith('rpc.'));
  const names = [
    ...REQUESTS,
    ...Object.values(EVENTS),
    ...calls.flatMap(({ request, response }) => [request, response]),
  ];
  const channels = {
    ...queueChannel(BUILD_REQUESTS, REQUESTS),
    ...Object.assign({}, ...[RPC_SCHEDULER, RPC_CONDUCTOR].map((spec) => callChannel(spec, calls))),
    answers: {
      address: null,
      description: 'A queue of the caller, private.<user>.<uuid>, which a call names in reply_to.',
      messages: refs(calls.map(({ response }) => response)),
    },
    ...Object.assign({}, ...Object.entries(EVENTS).map(([key, name]) => eventChannel(key, name))),
  };
  const send = REQUESTS.map((name) => [short(name), { action: 'send', channel: at('channels', BUILD_REQUESTS.name) }]);
  const ask = calls.map(({ name, queue, summary, request, response }) => [
    name,
    {
      action: 'send',
      channel: at('channels', queue),
      ...(summary !== '' && { summary }),
      messages: [inChannel(queue, request)],
      reply: { channel: at('channels', 'answers'), messages: [inChannel('answers', response)] },
    },
  ]);
  const hear = Object.entries(EVENTS).map(([key, name]) => [
    `hear${short(name)}`,
    { action: 'receive', channel: at('channels', key) },
  ]);
  const document = {
    asyncapi: '3.0.0',
    info: {
      title: 'Berth',
      version: (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version,
      license: { name: 'Apache-2.0' },
      description:
        'What clients send, call and hear. What a peer may rely on is said in README.md beside this. x-limits: lengths, counts and required fields.',
    },
    defaultContentType: 'application/protobuf',
    servers: { broker: { host: 'localhost:5672', protocol: 'amqp', protocolVersion: '0-9-1' } },
    channels,
    operations: Object.fromEntries([...send, ...ask, ...hear]),
    components: {
      messages: Object.fromEntries(names.map((name) => [name, messageOf(name)])),
      schemas: limitsOfMessages(readSchemas(root), names),
    },
  };
  return `# Written by \`npm run proto:asyncapi\` from the code and the .proto files.\n${stringify(document, { lineWidth: 120, aliasDuplicateObjects: false })}`;
}

/** Calls of all services; the comment of a service names their queue. */
export function callsOf(root: string): Call[] {
  return readSchemas(root).flatMap(({ package: name, objects }) => {
    const services = objects.filter((one): one is Service => 'methodsArray' in one);
    return services.flatMap((service) => {
      const [, queue = ''] = /to the queue ([a-z.]*[a-z])/.exec(service.comment ?? '') ?? [];
      const [, other = '', listed = ''] = /go to the queue (\w+): ([^.]*)/.exec(service.comment ?? '') ?? [];
      const others = listed.split(/,\s+/);
      return service.methodsArray.map((method) => ({
        name: method.name,
        queue: others.includes(method.name) ? other : queue,
        request: `${name}.${method.requestType}`,
        response: `${name}.${method.responseType}`,
        summary: (method.comment ?? '').replaceAll(/\s+/g, ' '),
      }));
    });
  });
}

function queueChannel(spec: QueueSpec, messages: readonly string[]): object {
  const { name, entrance } = spec;
  const entered = entrance && `Tenants publish to the exchange ${entrance.exchange} with the key ${name}.<user>.`;
  const queue = { name, durable: true, exclusive: false, autoDelete: false };
  return {
    [name]: {
      address: name,
      description: entered,
      messages: refs(messages),
      bindings: { amqp: { is: 'queue', queue, bindingVersion: '0.3.0' } },
      'x-arguments': queueArguments(spec),
    },
  };
}

function callChannel(spec: QueueSpec, calls: readonly Call[]): object {
  return queueChannel(
    spec,
    calls.filter(({ queue }) => queue === spec.name).map(({ request }) => request),
  );
}

function eventChannel(key: string, name: string): object {
  const words = [...key.matchAll(/\{(\w+)\}/g)].map(([, word = '']) => [word, {}]);
  const exchange = { name: EVENTS_EXCHANGE, type: 'topic', durable: true, autoDelete: false };
  return {
    [key]: {
      address: key,
      messages: refs([name]),
      parameters: Object.fromEntries(words),
      bindings: { amqp: { is: 'routingKey', exchange, bindingVersion: '0.3.0' } },
    },
  };
}

function messageOf(name: string): object {
  const file = `./${name.replace(/\.\w+$/, '').replaceAll('.', '/')}/${name.split('.')[1]}.proto`;
  const schema = {
    schemaFormat: 'application/vnd.google.protobuf;version=3',
    schema: { $ref: `${file}#${short(name)}` },
  };
  return { name, contentType: 'application/protobuf', payload: schema, 'x-limits': at('components/schemas', name) };
}

function refs(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, at('components/messages', name)]));
}

function at(where: string, name: string): object {
  return { $ref: `#/${where}/${escaped(name)}` };
}

function inChannel(channel: string, message: string): object {
  return { $ref: `#/channels/${escaped(channel)}/messages/${escaped(message)}` };
}

/** Escapes a part of a JSON pointer. */
function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}

function short(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
