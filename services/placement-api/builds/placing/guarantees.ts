import { type BrokenLossView, type GuaranteeStatus, MAX_BROKEN_SHOWN } from '#libs/contracts/guarantees';
import { GUARANTEE_POLICIES, type GuaranteePolicy, MAX_LOST_AT_ONCE } from '#libs/domain/grouping/guarantee';
import type { Answer } from '../../http/request';
import { CLASS_NAME, exactly, integer, keyed, list, orNull, shortText, text, whole } from '../../schemas/parts';
import type { BuildCall } from '../build-call';
import { anyPriority } from '../spec';

const flag = { type: 'boolean' };
const brokenSchema = whole({
  domains: list(text),
  instances: integer,
  unplaced: integer,
  instance_uuid: orNull(text),
  nearest_host: orNull(text),
  lacks: keyed(CLASS_NAME, integer),
  is_certain: flag,
});

export const guaranteeSchema = whole({
  name: text,
  lose: text,
  count: integer,
  aggregate: orNull(text),
  min_priority: integer,
  policy: { type: 'string', enum: GUARANTEE_POLICIES },
  updated_at_ms: integer,
  losses: integer,
  kept: integer,
  instances: integer,
  unread: integer,
  has_too_many_losses: flag,
  broken: { ...list(brokenSchema), maxItems: MAX_BROKEN_SHOWN },
});
export const guaranteesSchema = whole({
  guarantees: list(guaranteeSchema),
  headroom: orNull(
    whole({
      fits: integer,
      is_at_least: flag,
      guarantee: orNull(text),
      breaks_first: orNull(brokenSchema),
    }),
  ),
});

/** GET /berth/guarantees */
export const guaranteesQuery = exactly({ name: shortText, flavor: shortText });
/** PUT /berth/guarantees/{name} */
export const guaranteeBody = exactly(
  {
    lose: shortText,
    count: { ...integer, minimum: 1, maximum: MAX_LOST_AT_ONCE },
    aggregate: orNull({ type: 'string', maxLength: 255 }),
    min_priority: anyPriority,
    policy: { type: 'string', enum: GUARANTEE_POLICIES },
  },
  ['lose'],
);

interface GuaranteeBody {
  readonly lose: string;
  readonly count?: number;
  readonly aggregate?: string | null;
  readonly min_priority?: number;
  readonly policy?: GuaranteePolicy;
}

/** GET /berth/guarantees: all or one (`name`), and with `flavor` how many more of it fit while they hold. */
export async function listGuarantees({ client, query }: BuildCall): Promise<Answer> {
  const found = await (await client()).guarantees(query.last('name') ?? '', query.last('flavor'));
  const { headroom } = found;
  const more = headroom && {
    fits: headroom.fits,
    is_at_least: headroom.isAtLeast,
    guarantee: headroom.guarantee || null,
    breaks_first: headroom.breaksFirst ? brokenJson(headroom.breaksFirst) : null,
  };
  return { status: 200, body: { guarantees: found.guarantees.map(guaranteeJson), headroom: more ?? null } };
}

/** PUT /berth/guarantees/{name}: sets it, instead of the one of its name. @throws BerthError `resource_exhausted / too_many_guarantees`. */
export async function setGuarantee({ client, params, body }: BuildCall): Promise<Answer> {
  const { lose, count = 1, aggregate, min_priority: minPriority = 0, policy = 'refuse' } = body as GuaranteeBody;
  const terms = { name: params.name, lose, count, aggregate: aggregate ?? '', minPriority, policy };
  return { status: 200, body: guaranteeJson(await (await client()).setGuarantee(terms)) };
}

/** DELETE /berth/guarantees/{name}. @throws BerthError `not_found / no_such_guarantee`. */
export async function deleteGuarantee({ client, params }: BuildCall): Promise<Answer> {
  await (await client()).deleteGuarantee(params.name);
  return { status: 204 };
}

function guaranteeJson({ guarantee, losses, kept, instances, unread, broken, hasTooManyLosses }: GuaranteeStatus) {
  return {
    name: guarantee.name,
    lose: guarantee.lose,
    count: guarantee.count,
    aggregate: guarantee.aggregate || null,
    min_priority: guarantee.minPriority,
    policy: guarantee.policy,
    updated_at_ms: guarantee.updatedAtMs,
    losses,
    kept,
    instances,
    unread,
    has_too_many_losses: hasTooManyLosses,
    broken: broken.map(brokenJson),
  };
}

function brokenJson({ domains, instances, unplaced, instanceUuid, nearestHost, lacks, isCertain }: BrokenLossView) {
  return {
    domains,
    instances,
    unplaced,
    instance_uuid: instanceUuid || null,
    nearest_host: nearestHost || null,
    lacks,
    is_certain: isCertain,
  };
}
