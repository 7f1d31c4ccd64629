import type { Client } from '#libs/client/client';
import type { Decision, Diagnosis, HostVerdict } from '#libs/contracts/diagnosis';
import { diagnosisFor } from '#libs/contracts/diagnosis-for';
import { type Identity, SERVICE } from '#libs/contracts/identity';
import { BerthError } from '#libs/domain/errors';
import type { Answer } from '../../http/request';
import {
  anyText,
  exactly,
  integer,
  keyed,
  list,
  orNull,
  type Schema,
  shortText,
  text,
  whole,
} from '../../schemas/parts';
import type { BuildCall } from '../build-call';
import { type Caller, projectToBuildFor } from '../caller';
import { anyPriority, type BuildBody, explainedFields, specOf } from '../spec';
import { fairShareJson, fairShareSchema } from './fair-shares';

const flag: Schema = { type: 'boolean' };
const number: Schema = { type: 'number' };
const counts = keyed(anyText, integer);

const diagnosis = whole({
  hosts_considered: integer,
  hosts_passed: integer,
  summary: text,
  impossible: list(text),
  filters: list(whole({ filter: text, refused: integer, reasons: counts })),
  quota_exceeded: list(
    whole({ scope: text, name: text, resource_class: text, used: integer, asked: integer, limit: integer }),
  ),
});
const hosts = list(
  whole({ host: text, passed: flag, refusals: list(text), weight: number, weights: keyed(anyText, number) }),
);

export const explanationSchema = whole({
  diagnosis,
  hosts,
  relaxations: list(whole({ sentence: text, hosts: integer, nearest_host: text, reasons: list(text) })),
  conflict: list(text),
  victims: list(text),
  fair_share: orNull(fairShareSchema),
});
export const decisionSchema = whole({
  request_id: text,
  decided_at_ms: integer,
  revision: integer,
  selected: keyed(anyText, text),
  unconfirmed: list(whole({ host: text, reason: text, message: text })),
  diagnosis,
  hosts,
});

/** POST /berth/explain */
export const explainBody = exactly({
  project_id: shortText,
  host: shortText,
  limit: { ...integer, minimum: 1, maximum: 1_000 },
  priority: anyPriority,
  may_preempt: flag,
  ...explainedFields,
});

/**
 * POST /berth/explain: the decision about an instance as a dry run: which hosts fit, best first, why others do not, and what would
 * have to be asked less. Of those whose place it would take a tenant sees its own instances.
 */
export async function explainRequest(call: BuildCall): Promise<Answer> {
  const { caller } = call;
  const body = call.body as BuildBody & { host?: string; limit?: number; priority?: number; may_preempt?: boolean };
  const { host = '', limit = 10, priority = 0, may_preempt: mayPreempt = false } = body;
  const client = await call.client();
  const spec = specOf(body, projectToBuildFor(caller, body.project_id), caller.userId);
  const explained = await client.explain(spec, { host, limit, priority, mayPreempt });
  const victims = explained.preemption?.victims.map(({ instanceUuid }) => instanceUuid) ?? [];
  return {
    status: 200,
    body: {
      diagnosis: diagnosisJson(explained.diagnosis, caller),
      hosts: explained.hosts.map(hostJson),
      relaxations: explained.relaxations.map(({ sentence, hosts: more, nearestHost, reasons }) => {
        return { sentence, hosts: more, nearest_host: nearestHost, reasons };
      }),
      conflict: explained.conflict,
      victims: await ownOf(victims, caller, client),
      fair_share: explained.fairShare ? fairShareJson(explained.fairShare) : null,
    },
  };
}

/**
 * GET /berth/explain/{uuid}: the last decision for an instance, or for a request by its id; a tenant's own.
 *
 * @throws BerthError `not_found / no_such_decision`.
 */
export async function explainDecision({ caller, client, params: { uuid } }: BuildCall): Promise<Answer> {
  const decision = await (await client()).explainInstance(uuid);
  if (!caller.isOperator && decision.projectId !== caller.projectId) {
    throw new BerthError('not_found', 'no_such_decision', `no decision for ${uuid} is kept`);
  }
  return { status: 200, body: decisionJson(decision, caller) };
}

function decisionJson(decision: Decision, caller: Caller) {
  const { requestId, decidedAtMs, revision, selected, unconfirmed = [] } = decision;
  return {
    request_id: requestId,
    decided_at_ms: decidedAtMs,
    revision,
    selected,
    unconfirmed,
    diagnosis: diagnosisJson(decision.diagnosis, caller),
    hosts: decision.hosts.map(hostJson),
  };
}

function diagnosisJson(full: Diagnosis, { isOperator, projectId = '' }: Caller) {
  const asker: Identity = isOperator ? SERVICE : { kind: 'project', projectId };
  const { hostsConsidered, hostsPassed, filters, summary, quotaExceeded, impossible = [] } = diagnosisFor(asker, full);
  return {
    hosts_considered: hostsConsidered,
    hosts_passed: hostsPassed,
    summary,
    impossible,
    filters,
    quota_exceeded: quotaExceeded.map(({ resourceClass, ...excess }) => ({ ...excess, resource_class: resourceClass })),
  };
}

function hostJson({ host, passed, refusals, weight, weights }: HostVerdict) {
  return { host, passed, refusals, weight, weights };
}

async function ownOf(
  uuids: readonly string[],
  { isOperator, projectId = '' }: Caller,
  client: Client,
): Promise<string[]> {
  if (isOperator) return [...uuids];
  const views = await Promise.all(uuids.map((instanceUuid) => client.instances({ instanceUuid, projectId }, 1)));
  return views.flat().map(({ uuid }) => uuid);
}
