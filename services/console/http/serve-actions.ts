import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Principal } from '#libs/auth/auth';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import { mapConcurrently } from '#libs/runtime/concurrent';
import { counted } from '#libs/runtime/counted';
import {
  type ActionParts,
  bulkActions,
  type ConsoleAction,
  dead,
  hostAction,
  instanceAction,
  rehearsalAction,
} from '../actions/console-actions';
import type { BulkOutcome } from '../api/instances';
import type { Access } from './session';

/** Limit of the instances of one request that are acted on at once. */
const BULK_AT_ONCE = 8;

/**
 * Operators' actions: each a POST with the CSRF token, by a user who may act, and published as an event whatever its
 * outcome.
 */
export function registerActions(app: FastifyInstance, parts: ActionParts, access: Access): void {
  const serve = (url: string, actionOf: (target: string, body: Body, principal: Principal) => ConsoleAction) => {
    app.post(url, { preHandler: app.csrfProtection.bind(app) }, async (request: FastifyRequest) => {
      const principal = await access.reader(request);
      const { target = '' } = request.params as { target?: string };
      const action = actionOf(target, bodyOf(request), principal);
      await parts.actions.carryOut(principal, action, async () => {
        await access.actor(request);
        await action.work();
      });
      return { done: action.action };
    });
  };
  serve('/api/hosts/:target/actions', (host, body, { userId }) => hostAction(parts, host, body, userId));
  serve('/api/instances/:target/actions', (uuid, body) => instanceAction(parts, uuid, body));
  serve('/api/dead-letters/actions', (_target, body) => dead(parts, body));
  serve('/api/rehearsals/actions', (_target, body, { userId }) => rehearsalAction(parts, body, userId));
  app.post('/api/instances/actions', { preHandler: app.csrfProtection.bind(app) }, async (request) => {
    const principal = await access.reader(request);
    const actions = bulkActions(parts, bodyOf(request));
    const [first] = actions;
    const told = { action: first?.action ?? '', target: counted(actions.length, 'instance') };
    // One refusal, not one for each.
    if (!access.mayAct(principal)) await parts.actions.carryOut(principal, told, () => access.actor(request));
    return carryOutAll(parts, principal, actions);
  });
}

/** Carries out each action by itself, whatever becomes of the others. */
async function carryOutAll(
  { actions }: ActionParts,
  principal: Principal,
  all: readonly ConsoleAction[],
): Promise<BulkOutcome> {
  const refused: BulkOutcome['refused'][number][] = [];
  await mapConcurrently(all, BULK_AT_ONCE, async (action) => {
    try {
      await actions.carryOut(principal, action, action.work);
    } catch (thrown) {
      const { reason, message } = BerthError.from(thrown);
      refused.push({ uuid: action.target, reason, message });
    }
  });
  return { done: all.length - refused.length, refused };
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
