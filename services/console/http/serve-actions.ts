import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Principal } from '#libs/auth/auth';
import { invalidArgument } from '#libs/domain/errors';
import { type ActionParts, type Deed, dead, hostDeed, instanceDeed } from '../actions/deeds';
import type { Access } from './session';

/**
 * Operators' actions: each a POST with the CSRF token, by a user who may act, and published as an event whatever its
 * outcome.
 */
export function registerActions(app: FastifyInstance, parts: ActionParts, access: Access): void {
  const serve = (url: string, deedOf: (target: string, body: Body, principal: Principal) => Deed) => {
    app.post(url, { preHandler: app.csrfProtection.bind(app) }, async (request: FastifyRequest) => {
      const principal = await access.reader(request);
      const { target = '' } = request.params as { target?: string };
      const deed = deedOf(target, bodyOf(request), principal);
      await parts.actions.carryOut(principal, deed, async () => {
        await access.actor(request);
        await deed.work();
      });
      return { done: deed.action };
    });
  };
  serve('/api/hosts/:target/actions', (host, body, { userId }) => hostDeed(parts, host, body, userId));
  serve('/api/instances/:target/actions', (uuid, body) => instanceDeed(parts, uuid, body));
  serve('/api/dead-letters/actions', (_target, body) => dead(parts, body));
}

/** The text fields of a body. */
export type Body = Readonly<Record<string, string>>;

/** @throws BerthError `invalid_argument / bad_body` when it is not an object of texts. */
function bodyOf(request: FastifyRequest): Body {
  const { body } = request;
  const isTexts =
    typeof body === 'object' && body !== null && Object.values(body).every((value) => typeof value === 'string');
  if (!isTexts) throw invalidArgument('bad_body', 'the body must be a JSON object whose values are texts');
  return body as Body;
}
