import { exactly, type Schema, text } from '../schemas/parts';
import { LAST_EVENT_ID } from './events';
import { IDEMPOTENCY_HEADER } from './idempotency';
import { BUILD_ROUTES, type BuildRoute, EVENTS_PATH, eventsQuery } from './routes';
import { eventSchema } from './views';

type Operation = Readonly<Record<string, unknown>>;

const ERRORS = { $ref: '#/components/schemas/Errors' };
const REFUSALS: Readonly<Record<string, string>> = {
  400: 'Something about the request is wrong; the detail says what.',
  401: 'No good token.',
  403: 'The token is not of a role, or of the project, that may do this.',
  404: 'No such instance, group, guarantee, reservation or decision, or not of this project.',
  409: 'Its state, or an earlier request, forbids it; the code says which.',
  413: 'The body is too large.',
  415: 'The body is not application/json.',
  429: 'Too many at once, or a queue is full; retry-after says when to try again.',
  503: 'The broker, the store, or all conductors are away; try again, with the same Idempotency-Key.',
};

/** The paths of the API to build, for the OpenAPI document. */
export function buildPaths(): Readonly<Record<string, Readonly<Record<string, Operation>>>> {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of BUILD_ROUTES) (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(route);
  paths[EVENTS_PATH] = {
    get: {
      operationId: 'getBerthEvents',
      summary: 'Hear what happens to instances, from now on, as server-sent events',
      'x-right': 'read',
      parameters: [
        ...queryParametersOf(eventsQuery),
        { name: LAST_EVENT_ID, in: 'header', required: false, schema: text },
      ],
      responses: {
        200: {
          description:
            'Events named instance, whose data is this as JSON. Nothing is sent again: a request with Last-Event-ID is answered with one named missed first, after which a listing has what was missed. One named problem before an early end. The connection of a client that does not read what waits for it within a minute is closed.',
          content: { 'text/event-stream': { schema: eventSchema } },
        },
        ...refusalsOf([400, 401, 403, 429, 503]),
      },
    },
  };
  return paths;
}

function operationOf({
  method,
  path,
  summary,
  right,
  query,
  body,
  answers,
  takesIdempotencyKey,
}: BuildRoute): Operation {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: text,
  }));
  const key = { name: IDEMPOTENCY_HEADER, in: 'header', required: false, schema: { ...text, maxLength: 255 } };
  const json = (schema: Schema) => ({ content: { 'application/json': { schema } } });
  const done = Object.entries(answers).map(([status, schema]) => [
    status,
    { description: 'Done, or under way.', ...(schema ? json(schema) : {}) },
  ]);
  const statuses = [400, 401, 403, 404, 409, ...(body ? [413, 415] : []), 429, 503];
  return {
    operationId: operationIdOf(method, path),
    summary,
    'x-right': right,
    parameters: [...inPath, ...queryParametersOf(query), ...(takesIdempotencyKey ? [key] : [])],
    ...(body ? { requestBody: { required: true, ...json(body) } } : {}),
    responses: { ...Object.fromEntries(done), ...refusalsOf(statuses) } as Record<string, Operation>,
  };
}

function refusalsOf(statuses: readonly number[]): Record<string, Operation> {
  const content = { 'application/json': { schema: ERRORS } };
  return Object.fromEntries(statuses.map((status) => [status, { description: REFUSALS[status], content }]));
}

/** `POST /berth/instances/{uuid}/actions` as `postBerthInstancesByUuidActions`. */
function operationIdOf(method: string, path: string): string {
  const words = path.replaceAll('{', 'by_').split(/\W+|_/).filter(Boolean);
  return [method.toLowerCase(), ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join('');
}

function queryParametersOf(schema: Schema = exactly({})): Operation[] {
  const { properties = {} } = schema as { readonly properties?: Record<string, Schema> };
  return Object.entries(properties).map(([name, value]) => ({ name, in: 'query', required: false, schema: value }));
}
