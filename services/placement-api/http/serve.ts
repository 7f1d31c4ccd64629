import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import type { Principal } from '#libs/auth/auth';
import { headerOf } from '#libs/auth/header';
import type { PlacementApiConfig } from '../options';
import type { Placement } from '../placement';
import type { Policy } from '../policy/policy';
import type { Route } from '../routes';
import { at, type Schema } from '../schemas/parts';
import { type BodyBounds, checkBody, checkEncoded } from './body-bounds';
import { CANDIDATE_ID_HEADER, CANDIDATE_IDS_HEADER, JSON_TYPE, mediaTypeOf, QUOTA_HEADER } from './headers';
import { badRequest, ERROR_CODE, HttpError } from './http-error';
import type { Microversion } from './microversion';
import { invalidQuery, Query } from './query';
import type { Answer, ApiRequest } from './request';
import { whyInvalid } from './validate';

export interface ServeDeps {
  readonly placement: Placement;
  readonly policy: Policy;
  readonly config: PlacementApiConfig;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Paths whose answer does not depend on `accept`: the version document, and answers without a body. */
const ANSWERED_TO_ALL: ReadonlySet<string> = new Set(['/', '/traits/{name}']);

/**
 * Answers a request by its route. Checks, in Placement's order, because clients see the first fault: microversion,
 * content type, policy, query string; then the handler, which reads the body.
 *
 * @throws HttpError, and errors of the handler.
 */
export async function serve(
  { placement, policy, config }: ServeDeps,
  route: Route,
  request: FastifyRequest,
  { principal, version }: { readonly principal: Principal; readonly version: Microversion },
): Promise<Answer> {
  if (version < route.since) throw notYet(route);
  const schema = at(route.input, version);
  const isRead = route.method === 'GET';
  const type = mediaTypeOf(request.headers);
  if (schema && !isRead && type !== JSON_TYPE) {
    throw new HttpError(415, `The media type ${type ?? 'None'} is not supported, use ${JSON_TYPE}`);
  }
  if (isRead && !ANSWERED_TO_ALL.has(route.path)) requireJsonAccepted(request);
  const query = new Query(request.url, config.maxQueryParameters);
  if (route.rule) policy(route.rule, principal, query.last('project_id'));
  const invalid = schema && isRead ? whyInvalid(query.asObject(), schema) : undefined;
  if (invalid !== undefined) throw invalidQuery(invalid);
  return route.handler(
    {
      version,
      principal,
      params: request.params as ApiRequest['params'],
      query,
      isWithinQuota: config.enforceQuotas || isTrue(request.headers, QUOTA_HEADER),
      wantsIds: isTrue(request.headers, CANDIDATE_IDS_HEADER),
      candidateId: headerOf(request.headers, CANDIDATE_ID_HEADER),
      body: (completed) => validBody(request.body, config, schema, completed),
    },
    placement,
  );
}

/** True when this request says so by a header of Berth's own. @throws HttpError 400 */
function isTrue(headers: FastifyRequest['headers'], name: string): boolean {
  const asked = headerOf(headers, name) ?? 'false';
  if (asked !== 'true' && asked !== 'false') throw badRequest(`${name} must be true or false, not '${asked}'`);
  return asked === 'true';
}

const NO_BODY = Buffer.alloc(0);

/** The body as JSON, completed, within bounds and valid. @throws HttpError 400, 413 */
export function validBody(bytes: unknown, bounds: BodyBounds, schema: Schema = {}, completed?: object): unknown {
  const body = bytes instanceof Buffer ? bytes : NO_BODY;
  checkEncoded(body, bounds);
  let value: unknown;
  try {
    value = parseJson(utf8.decode(body));
  } catch (thrown) {
    throw badRequest(`Malformed JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
  if (completed !== undefined) value = completedBy(value, completed);
  checkBody(value, bounds);
  const invalid = whyInvalid(value, schema);
  if (invalid !== undefined) throw badRequest(`JSON does not validate: ${invalid}`);
  return value;
}

function completedBy(value: unknown, completed: object): unknown {
  // The schema says what is wrong with it.
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const twice = Object.keys(completed).find((name) => Object.hasOwn(value, name));
  if (twice !== undefined) throw badRequest(`${CANDIDATE_ID_HEADER} says what ${twice} are: the body must not`);
  return { ...value, ...completed };
}

/** Parses JSON with well-formed texts: half a surrogate pair could be stored and never found again. */
function parseJson(text: string): unknown {
  return text.includes('\\u') ? JSON.parse(text, wellFormed) : JSON.parse(text);
}

function wellFormed(name: string, value: unknown): unknown {
  const isText = typeof value === 'string';
  if (LONE_SURROGATE.test(name) || (isText && LONE_SURROGATE.test(value)))
    throw new SyntaxError('lone surrogate in a text');
  return value;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

function notYet({ path, method }: Route): HttpError {
  // Placement answers 405 here, because other methods of the path are older.
  const isMethodMissing = method === 'DELETE' && path.endsWith('/inventories');
  return isMethodMissing ? methodNotAllowed(['GET', 'POST', 'PUT']) : new HttpError(404);
}

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'];

/** Answers 405 for the methods that a path lacks. */
export function refuseOtherMethods(
  app: FastifyInstance,
  path: string,
  allow: readonly string[],
  errorHandler?: RouteOptions['errorHandler'],
): void {
  app.route({
    method: METHODS.filter((method) => !allow.includes(method)),
    url: urlOf(path),
    ...(errorHandler ? { errorHandler } : {}),
    handler() {
      throw methodNotAllowed(allow);
    },
  });
}

/** A path of the OpenAPI document as Fastify routes it. */
export function urlOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** The refusal of a method that the path lacks; `allow` lists its methods. */
export function methodNotAllowed(allow: readonly string[]): HttpError {
  const detail = 'The method specified is not allowed for this resource.';
  return new HttpError(405, detail, ERROR_CODE.undefined, { allow: allow.join(', ') });
}

function requireJsonAccepted(request: FastifyRequest): void {
  if (request.accepts().type([JSON_TYPE]) === false) throw new HttpError(406, `Only ${JSON_TYPE} is provided`);
}
