import { MAX_PAGE } from '#libs/contracts/limits';
import type { Answer } from '../http/request';
import type { Answers } from '../schemas/answers';
import { exactInteger, exactly, list, orNull, type Schema, shortText, text, whole } from '../schemas/parts';
import type { BuildCall } from './build-call';
import type { Right } from './caller';
import { buildInstances, listInstances, operateInstance, showInstance, terminateInstance } from './instances';
import { decisionSchema, explainBody, explainDecision, explainRequest, explanationSchema } from './placing/explain';
import { fairSharesQuery, fairSharesSchema, listFairShares } from './placing/fair-shares';
import {
  createGroup,
  deleteGroup,
  groupBody,
  groupQuery,
  groupSchema,
  groupsQuery,
  groupsSchema,
  groupWithMembers,
  listGroups,
  showGroup,
} from './placing/groups';
import {
  deleteGuarantee,
  guaranteeBody,
  guaranteeSchema,
  guaranteesQuery,
  guaranteesSchema,
  listGuarantees,
  setGuarantee,
} from './placing/guarantees';
import {
  listQuotas,
  quotaBody,
  quotaSchema,
  quotasQuery,
  quotasSchema,
  setQuota,
  unsetQuery,
  unsetQuota,
} from './placing/quotas';
import {
  createReservation,
  deleteReservation,
  listReservations,
  reservationBody,
  reservationSchema,
  reservationsQuery,
  reservationsSchema,
} from './placing/reservations';
import { buildBody, sizeFields } from './spec';
import { showUsage, usageQuery, usageSchema } from './usage';
import { flavorJson, flavorSchema, instanceSchema } from './views';

/** One operation of the API to build; microversions change none of them. */
export interface BuildRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly summary: string;
  readonly right: Right;
  readonly answers: Answers;
  readonly query?: Schema;
  readonly body?: Schema;
  readonly takesIdempotencyKey?: boolean;
  readonly handler: (call: BuildCall) => Promise<Answer>;
}

const INSTANCES = '/berth/instances';
const digits = (most: number): Schema => ({ type: 'string', pattern: `^[1-9][0-9]{0,${most - 1}}$` });

export const eventsQuery = exactly({ project_id: shortText, state: text, instance_uuid: text });
export const EVENTS_PATH = '/berth/events';

const GROUPS = '/berth/groups';
const GUARANTEE = '/berth/guarantees/{name}';
const RESERVATION = '/berth/reservations/{name}';
const QUOTA = '/berth/quotas/{project_id}';
const DEFAULT_QUOTA = '/berth/default-quota';

export const BUILD_ROUTES: readonly BuildRoute[] = [
  {
    method: 'POST',
    path: INSTANCES,
    summary: 'Build instances; 202 says where they are. With Idempotency-Key a copy of the request builds nothing',
    right: 'write',
    answers: {
      202: whole({
        request_id: text,
        is_on_record: { type: 'boolean' },
        instances: list(whole({ uuid: text, href: text })),
      }),
    },
    body: buildBody,
    takesIdempotencyKey: true,
    handler: buildInstances,
  },
  {
    method: 'GET',
    path: INSTANCES,
    summary: 'List instances by uuid, page by page',
    right: 'read',
    answers: {
      200: whole({
        instances: list(instanceSchema),
        next_marker: orNull(text),
      }),
    },
    query: exactly({
      project_id: shortText,
      request_id: text,
      state: text,
      host: shortText,
      marker: text,
      limit: { ...digits(4), description: `At most ${MAX_PAGE}.` },
    }),
    handler: listInstances,
  },
  {
    method: 'GET',
    path: `${INSTANCES}/{uuid}`,
    summary:
      'See an instance; with wait_for (ACTIVE,ERROR) once it is in one of these states, or timeout_ms (60000) is over',
    right: 'read',
    answers: { 200: instanceSchema },
    query: exactly({ wait_for: text, timeout_ms: digits(5) }),
    handler: showInstance,
  },
  {
    method: 'DELETE',
    path: `${INSTANCES}/{uuid}`,
    summary: 'Terminate an instance',
    right: 'write',
    answers: { 202: undefined },
    handler: terminateInstance,
  },
  {
    method: 'POST',
    path: `${INSTANCES}/{uuid}/actions`,
    summary: 'Stop, start, shelve, unshelve or resize an instance, confirm or revert that; for operators, move it',
    right: 'write',
    answers: { 202: instanceSchema },
    body: exactly(
      {
        action: {
          type: 'string',
          enum: [
            'stop',
            'start',
            'shelve',
            'unshelve',
            'resize',
            'confirm',
            'revert',
            'migrate',
            'live_migrate',
            'evacuate',
          ],
        },
        resize_to: exactly(sizeFields),
        target_host: shortText,
        target_cell: shortText,
        confirm_after_ms: { ...exactInteger, minimum: 0 },
      },
      ['action'],
    ),
    handler: operateInstance,
  },
  {
    method: 'GET',
    path: '/berth/flavors',
    summary: 'List the named sizes to build from',
    right: 'read',
    answers: { 200: whole({ flavors: list(flavorSchema) }) },
    async handler({ client }) {
      const flavors = await (await client()).flavors();
      return { status: 200, body: { flavors: flavors.map(flavorJson) } };
    },
  },
  {
    method: 'GET',
    path: '/berth/usage',
    summary:
      'See what projects held, by UTC day and class, in unit-hours: since (30 days ago) and until a day, both included; by user, flavor, instance or several, with commas, in shares that sum to it',
    right: 'read',
    answers: { 200: usageSchema },
    query: usageQuery,
    handler: showUsage,
  },
  {
    method: 'POST',
    path: GROUPS,
    summary: 'Create a server group, whose rules requests name it for',
    right: 'write',
    answers: { 201: groupSchema },
    body: groupBody,
    handler: createGroup,
  },
  {
    method: 'GET',
    path: GROUPS,
    summary: 'List server groups, by project and name, page by page',
    right: 'read',
    answers: { 200: groupsSchema },
    query: groupsQuery,
    handler: listGroups,
  },
  {
    method: 'GET',
    path: `${GROUPS}/{name}`,
    summary: 'See a server group with its members',
    right: 'read',
    answers: { 200: groupWithMembers },
    query: groupQuery,
    handler: showGroup,
  },
  {
    method: 'DELETE',
    path: `${GROUPS}/{name}`,
    summary: 'Delete a server group; its members stay',
    right: 'write',
    answers: { 204: undefined },
    query: groupQuery,
    handler: deleteGroup,
  },
  {
    method: 'GET',
    path: '/berth/quotas',
    summary: 'See what projects may hold and hold, and the limits of those without their own',
    right: 'read',
    answers: { 200: quotasSchema },
    query: quotasQuery,
    handler: listQuotas,
  },
  {
    method: 'GET',
    path: '/berth/fair-shares',
    summary: 'See what projects use and used lately, which decides who of those who wait goes first',
    right: 'read',
    answers: { 200: fairSharesSchema },
    query: fairSharesQuery,
    handler: listFairShares,
  },
  ...[QUOTA, DEFAULT_QUOTA].flatMap((path): readonly BuildRoute[] => [
    {
      method: 'PUT',
      path,
      summary: 'Set limits; those that are not named stay, and -1 is none',
      right: 'operate',
      answers: { 200: quotaSchema },
      body: quotaBody,
      handler: setQuota,
    },
    {
      method: 'DELETE',
      path,
      summary: 'Take limits away, of some classes with commas between, or all',
      right: 'operate',
      answers: { 200: quotaSchema },
      query: unsetQuery,
      handler: unsetQuota,
    },
  ]),
  {
    method: 'GET',
    path: '/berth/guarantees',
    summary:
      'See which losses of hosts, racks or zones the fleet would stand, and how many more of a flavor fit under them',
    right: 'operate',
    answers: { 200: guaranteesSchema },
    query: guaranteesQuery,
    handler: listGuarantees,
  },
  {
    method: 'PUT',
    path: GUARANTEE,
    summary: 'Guarantee that so many hosts, racks or zones may be lost at any time',
    right: 'operate',
    answers: { 200: guaranteeSchema },
    body: guaranteeBody,
    handler: setGuarantee,
  },
  {
    method: 'DELETE',
    path: GUARANTEE,
    summary: 'End a guarantee',
    right: 'operate',
    answers: { 204: undefined },
    handler: deleteGuarantee,
  },
  {
    method: 'GET',
    path: '/berth/reservations',
    summary: 'See what is reserved for projects, where its units are, and whether each has a host',
    right: 'operate',
    answers: { 200: reservationsSchema },
    query: reservationsQuery,
    handler: listReservations,
  },
  {
    method: 'PUT',
    path: RESERVATION,
    summary: 'Hold capacity for a project over a window of time',
    right: 'operate',
    answers: { 200: reservationSchema },
    body: reservationBody,
    handler: createReservation,
  },
  {
    method: 'DELETE',
    path: RESERVATION,
    summary: 'End a reservation; its instances stay',
    right: 'operate',
    answers: { 204: undefined },
    handler: deleteReservation,
  },
  {
    method: 'POST',
    path: '/berth/explain',
    summary: 'Explain where an instance would go, and why other hosts are refused; nothing is claimed',
    right: 'read',
    answers: { 200: explanationSchema },
    body: explainBody,
    handler: explainRequest,
  },
  {
    method: 'GET',
    path: '/berth/explain/{uuid}',
    summary: 'See the last decision for an instance, or for a request by its id',
    right: 'read',
    answers: { 200: decisionSchema },
    handler: explainDecision,
  },
];
