import { readConfig } from '#libs/runtime/config';
import { buildPaths } from './builds/openapi';
import { CANDIDATE_ID_HEADER, CANDIDATE_IDS_HEADER, QUOTA_HEADER } from './http/headers';
import type { ErrorStatus } from './http/http-error';
import { NEWEST, VERSION_HEADER } from './http/microversion';
import { type PlacementApiConfig, placementApiOptions } from './options';
import { RULES } from './policy/rules';
import { ROUTES, type Route } from './routes';
import { at, exactly, integer, type Schema, text, uuid, type Versioned } from './schemas/parts';

type Operation = Readonly<Record<string, unknown>>;

/**
 * The API as an OpenAPI 3.1 document, generated from the route table, its schemas and its policy rules. Bodies have a form
 * for each microversion that changed them, newest first.
 */
export function openApiDocument(limits: Limits = readConfig(placementApiOptions, {})): object {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of ROUTES) {
    const operations = (paths[route.path] ??= {});
    operations[route.method.toLowerCase()] = operationOf(route);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Berth placement API',
      version: `1.${NEWEST}`,
      description:
        "OpenStack Placement's API: providers, inventories, traits, candidates, allocations and usages; and Berth's own, below /berth, which microversions don't change.",
      'x-limits': Object.fromEntries(LIMITS.map((name) => [name, limits[name]])) as object,
    },
    ...(limits.pathPrefix === '' ? {} : { servers: [{ url: limits.pathPrefix }] }),
    security: [{ token: [] }],
    paths: { ...paths, ...buildPaths() },
    components: {
      securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'x-auth-token' } },
      schemas: { Errors: errors },
      parameters: {
        microversion: {
          name: VERSION_HEADER,
          in: 'header',
          description: `\`placement 1.N\` with N from 0 to ${NEWEST}, or \`placement latest\`; 1.0 when left out.`,
          schema: text,
        },
      },
    },
  };
}

/** The settings that bound a request. */
const LIMITS = [
  'maxBodyBytes',
  'maxBodyEntries',
  'maxBodyValues',
  'maxBodyDepth',
  'maxAllocations',
  'maxHeaderBytes',
  'maxQueryParameters',
  'maxRequestGroups',
  'maxCandidates',
  'maxCandidatesBytes',
  'maxSearchSteps',
] as const satisfies readonly (keyof PlacementApiConfig)[];
type Limits = Pick<PlacementApiConfig, (typeof LIMITS)[number] | 'pathPrefix'>;

const error: Schema = exactly(
  { status: integer, title: text, detail: text, code: text, request_id: text, max_version: text, min_version: text },
  ['status', 'title', 'detail', 'request_id'],
);
const errors: Schema = exactly({ errors: { type: 'array', items: error } }, ['errors']);

function operationOf(route: Route): Operation {
  const { method, path, since, rule, input } = route;
  return {
    operationId: operationIdOf(method, path),
    summary: rule === undefined ? 'See which microversions there are' : RULES[rule],
    'x-since': `1.${since}`,
    ...(rule === undefined ? { security: [] } : { 'x-policy': `placement:${rule}` }),
    parameters: [
      { $ref: '#/components/parameters/microversion' },
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: text })),
      ...(method === 'GET' ? queryParametersOf(at(input, NEWEST)) : []),
      ...(OWN_HEADERS[`${method} ${path}`] ?? []),
    ],
    ...(input && method !== 'GET' ? { requestBody: bodyOf(input) } : {}),
    responses: responsesOf(route),
  };
}

const isWithinQuota = ownHeader(
  QUOTA_HEADER,
  { type: 'boolean' },
  'Refuses allocations above the quota of the project.',
);
const CANDIDATE_ID =
  'Claims the candidate of this id, once: the body has neither `allocations` nor `mappings`. 409 `berth.unknown_candidate` when it was claimed or has expired.';

/** Headers of Berth's own, by operation. */
const OWN_HEADERS: Readonly<Record<string, readonly Operation[]>> = {
  'GET /allocation_candidates': [
    ownHeader(
      CANDIDATE_IDS_HEADER,
      { type: 'boolean' },
      'Gives each allocation request an `id` to claim it by, for a while.',
    ),
  ],
  'PUT /allocations/{consumer_uuid}': [ownHeader(CANDIDATE_ID_HEADER, uuid, CANDIDATE_ID), isWithinQuota],
  'POST /allocations': [isWithinQuota],
};

function ownHeader(name: string, schema: Schema, description: string): Operation {
  return { name, in: 'header', required: false, description, schema };
}

const DONE: Readonly<Record<string, string>> = { 201: 'Created.', 204: 'Done; there is nothing to tell.' };

/** `PUT /allocations/{consumer_uuid}` as `putAllocationsByConsumerUuid`. */
function operationIdOf(method: string, path: string): string {
  const words = path.replaceAll('{', 'by_').split(/\W+|_/).filter(Boolean);
  return [method.toLowerCase(), ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join('');
}

function queryParametersOf(schema: Schema = {}): Operation[] {
  const required = (schema['required'] ?? []) as readonly string[];
  const { properties = {}, patternProperties = {} } = schema as Record<string, Record<string, Schema> | undefined>;
  const named = Object.entries(properties).map(([name, value]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: value,
  }));
  // OpenAPI can't express "a name with any suffix": the pattern is the name's description.
  const suffixed = Object.entries(patternProperties).map(([pattern, value]) => ({
    name: /^\^?(\w+)/.exec(pattern)?.[1] ?? pattern,
    in: 'query',
    description: `Any name that matches \`${pattern}\`: one for each request group.`,
    schema: value,
  }));
  return [...named, ...suffixed];
}

function bodyOf(versions: Versioned<Schema | undefined>): Operation {
  const forms = versions.flatMap(([since, schema], i) => {
    const next = versions[i + 1]?.[0];
    const title = next === undefined ? `since 1.${since}` : `1.${since} to 1.${next - 1}`;
    return schema ? [{ title, ...schema }] : [];
  });
  const isAlwaysThere = versions.every(([, schema]) => schema !== undefined);
  const schema = forms.length === 1 ? forms[0] : { anyOf: forms.toReversed() };
  return { required: isAlwaysThere, content: { 'application/json': { schema } } };
}

const TOO_MUCH =
  'The body is too large, or has more in it than `info.x-limits` says (then with the code `berth.too_many`).';

function responsesOf(route: Route): Record<string, Operation> {
  const isRead = route.method === 'GET';
  const takesBody = route.input !== undefined && !isRead;
  const refusals: Partial<Record<ErrorStatus, string>> = {
    ...(route.input || !isRead ? { 400: 'Something about the request is wrong; the detail says what.' } : {}),
    ...(route.rule === undefined ? {} : { 401: 'No good token.', 403: 'The policy rule is not met.' }),
    404: 'No such thing, or not in this microversion.',
    406: 'An unknown microversion, or JSON is not accepted.',
    ...(isRead ? {} : { 409: 'It is in use, does not fit, or somebody else was faster; the code says which.' }),
    ...(takesBody ? { 413: TOO_MUCH, 415: 'The body is not application/json.' } : {}),
    503: 'The store or the identity service is unavailable; try again.',
  };
  const refused = Object.entries(refusals).map(([status, description]) => [
    status,
    { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Errors' } } } },
  ]);
  const done = Object.entries(route.answers).map(([status, schema]) => [
    status,
    { description: DONE[status] ?? 'Done.', ...(schema ? { content: { 'application/json': { schema } } } : {}) },
  ]);
  return Object.fromEntries([...done, ...refused]) as Record<string, Operation>;
}
