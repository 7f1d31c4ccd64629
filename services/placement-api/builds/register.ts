import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticate, Principal } from '#libs/auth/auth';
import { headerOf } from '#libs/auth/header';
import type { Clock } from '#libs/domain/clock';
import { invalidArgument } from '#libs/domain/errors';
import { JSON_TYPE, mediaTypeOf } from '../http/headers';
import { HttpError } from '../http/http-error';
import { invalidQuery, Query } from '../http/query';
import { sendAnswer } from '../http/reply';
import { refuseOtherMethods, urlOf, validBody } from '../http/serve';
import { whyInvalid } from '../http/validate';
import type { PlacementApiConfig } from '../options';
import type { Placement } from '../placement';
import type { Schema } from '../schemas/parts';
import type { BuildCall } from './build-call';
import { type Caller, callerOf } from './caller';
import { streamEvents } from './events';
import { IDEMPOTENCY_HEADER } from './idempotency';
import type { ClientSource } from './lazy-client';
import { BUILD_ROUTES, type BuildRoute, EVENTS_PATH, eventsQuery } from './routes';
import { Shares } from './shares';

export interface BuildDeps {
  readonly builds: ClientSource;
  readonly placement: Placement;
  readonly config: PlacementApiConfig;
  readonly clock: Clock;
  readonly authenticate: Authenticate;
}

/** The application's knowledge of requests, and its answer to errors. */
interface Around {
  readonly principalOf: (request: FastifyRequest) => Principal;
  readonly fail: (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => void;
}

/** Largest body: that of a build request on the bus. */
const MAX_BODY_BYTES = 524_288;

/**
 * Serves the API to build. Identity, then size, then shape are judged before anything is sent on the bus; what is open at
 * once is bounded, in all and of each project. Answers how to end its streams.
 */
export function registerBuilds(app: FastifyInstance, deps: BuildDeps, around: Around): () => void {
  const { config } = deps;
  const calls = new Shares('requests', config.maxBuildCalls, config.maxBuildCallsPerProject);
  const streams = new Shares('event streams', config.maxEventStreams, config.maxEventStreamsPerProject);
  const closing = new AbortController();
  const { principalOf, fail: errorHandler } = around;
  const bodyLimit = Math.min(MAX_BODY_BYTES, config.maxBodyBytes);
  for (const route of BUILD_ROUTES) {
    app.route({
      method: route.method,
      url: urlOf(route.path),
      bodyLimit,
      errorHandler,
      async handler(request, reply) {
        const caller = callerOf(principalOf(request), route.right, config);
        const free = calls.take(shareOf(caller));
        try {
          const call = readCall(route, request, config);
          const { placement, builds, clock } = deps;
          const by = { client: () => builds.get(), nameKeys: builds.nameKeys };
          const its = { caller, config, placement, ...by, nowMs: clock.now() };
          const answer = await route.handler({ ...call, ...its });
          return sendAnswer(reply, answer, 0, deps);
        } finally {
          free();
        }
      },
    });
  }
  app.route({
    method: 'GET',
    url: EVENTS_PATH,
    errorHandler,
    async handler(request, reply) {
      const caller = callerOf(principalOf(request), 'read', config);
      const free = streams.take(shareOf(caller));
      try {
        const query = validQuery(request, config, eventsQuery);
        await streamEvents(
          deps,
          { caller, query, client: await deps.builds.get() },
          { request, reply },
          closing.signal,
        );
      } finally {
        free();
      }
    },
  });
  refuseOtherMethods(app, EVENTS_PATH, ['GET'], errorHandler);
  for (const path of new Set(BUILD_ROUTES.map((route) => route.path))) {
    const routes = BUILD_ROUTES.filter((route) => route.path === path);
    refuseOtherMethods(
      app,
      path,
      routes.map(({ method }) => method),
      errorHandler,
    );
  }
  return () => closing.abort();
}

/** Operators have a share each. */
function shareOf({ isOperator, userId, projectId = '' }: Caller): string {
  return isOperator ? `of operator ${userId}` : projectId;
}

function readCall(route: BuildRoute, request: FastifyRequest, config: PlacementApiConfig) {
  const type = mediaTypeOf(request.headers);
  if (route.body && type !== JSON_TYPE) {
    throw new HttpError(415, `The media type ${type ?? 'None'} is not supported, use ${JSON_TYPE}`);
  }
  const idempotencyKey = headerOf(request.headers, IDEMPOTENCY_HEADER);
  if (idempotencyKey !== undefined && route.method !== 'GET' && !route.takesIdempotencyKey) {
    throw invalidArgument(
      'no_idempotency_key',
      'this may be repeated as it is: leave out Idempotency-Key',
      IDEMPOTENCY_HEADER,
    );
  }
  return {
    params: request.params as BuildCall['params'],
    query: validQuery(request, config, route.query),
    body: route.body && validBody(request.body, config, route.body),
    idempotencyKey,
  };
}

const NO_QUERY: Schema = { type: 'object', additionalProperties: false };

function validQuery(request: FastifyRequest, config: PlacementApiConfig, schema: Schema = NO_QUERY): Query {
  const query = new Query(request.url, config.maxQueryParameters);
  const invalid = whyInvalid(query.asObject(), schema);
  if (invalid !== undefined) throw invalidQuery(invalid);
  return query;
}
