import {
  type AggregateView,
  addAggregateHostMethod,
  createAggregateMethod,
  deleteAggregateMethod,
  type ListAggregatesResponse,
  type ListZonesResponse,
  listAggregatesMethod,
  listZonesMethod,
  removeAggregateHostMethod,
  updateAggregateMethod,
} from '../contracts/aggregates';
import type { Method } from '../contracts/codec';
import {
  type CreateGroupRequest,
  createGroupMethod,
  deleteGroupMethod,
  type GroupView,
  type ListGroupsResponse,
  listGroupsMethod,
} from '../contracts/groups';
import { MAX_PAGE } from '../contracts/limits';
import type { Random } from '../domain/random';

/** Calls a scheduler, with retries while that may help. */
export type AskScheduler = <Q, A>(method: Method<Q, A>, request: Q) => Promise<A>;

type Metadata = Readonly<Record<string, string>>;

/** Host aggregates and availability zones. Aggregates go by name or uuid. For operators, except the names of zones. */
export class AggregateCalls {
  constructor(
    private readonly ask: AskScheduler,
    private readonly random: Random,
  ) {}

  /** @throws BerthError `already_exists / aggregate_exists`. */
  async create(name: string, metadata: Metadata = {}): Promise<AggregateView> {
    const request = { uuid: this.random.uuid(), name, metadata };
    return (await this.ask(createAggregateMethod, request)).aggregate;
  }

  /** All aggregates, by name. */
  async list(): Promise<readonly AggregateView[]> {
    return (await this.ask(listAggregatesMethod, { aggregate: '' })).aggregates;
  }

  /** One aggregate, with its hosts. @throws BerthError `not_found / no_such_aggregate`. */
  async show(aggregate: string): Promise<AggregateView & Pick<ListAggregatesResponse, 'hosts'>> {
    const { aggregates, hosts } = await this.ask(listAggregatesMethod, { aggregate });
    return { ...(aggregates[0] as AggregateView), hosts };
  }

  /** Changes name or metadata. @throws BerthError `failed_precondition / other_zone`, `host_in_use`. */
  async update(
    aggregate: string,
    change: { readonly name?: string | undefined; readonly set?: Metadata; readonly unset?: readonly string[] },
  ): Promise<AggregateView> {
    const { name = '', set = {}, unset = [] } = change;
    const request = { aggregate, name, setMetadata: set, unsetMetadata: unset };
    return (await this.ask(updateAggregateMethod, request)).aggregate;
  }

  /** @throws BerthError `failed_precondition / other_zone`, `host_in_use`. */
  async addHost(aggregate: string, host: string): Promise<AggregateView> {
    return (await this.ask(addAggregateHostMethod, { aggregate, host })).aggregate;
  }

  /** @throws BerthError `failed_precondition / host_in_use`. */
  async removeHost(aggregate: string, host: string): Promise<AggregateView> {
    return (await this.ask(removeAggregateHostMethod, { aggregate, host })).aggregate;
  }

  /**
   * Deletes an aggregate without hosts and returns its last content. @throws BerthError `failed_precondition /
   * aggregate_in_use`.
   */
  async delete(aggregate: string): Promise<AggregateView> {
    return (await this.ask(deleteAggregateMethod, { aggregate })).aggregate;
  }

  /**
   * The availability zones, by name; for operators with the hosts of the named one. @throws BerthError `not_found /
   * no_such_zone`.
   */
  zones(name = ''): Promise<ListZonesResponse> {
    return this.ask(listZonesMethod, { name });
  }
}

/** Stored server groups: those of a tenant's own project. */
export class GroupCalls {
  constructor(private readonly ask: AskScheduler) {}

  /** @throws BerthError `already_exists / group_exists`. */
  async create(request: CreateGroupRequest): Promise<GroupView> {
    return (await this.ask(createGroupMethod, request)).group;
  }

  /** The groups of a project; for operators without a project, all groups. */
  async list(projectId = ''): Promise<GroupView[]> {
    const groups: GroupView[] = [];
    for (;;) {
      const last = groups.at(-1);
      const marker = { markerProjectId: last?.projectId ?? '', markerName: last?.name ?? '' };
      const page = await this.ask(listGroupsMethod, { projectId, name: '', ...marker, limit: MAX_PAGE });
      groups.push(...page.groups);
      if (page.groups.length < MAX_PAGE) return groups;
    }
  }

  /** One page of them, those after a group. */
  async page(
    projectId: string,
    after: { readonly projectId: string; readonly name: string },
    limit: number,
  ): Promise<readonly GroupView[]> {
    const marker = { markerProjectId: after.projectId, markerName: after.name };
    return (await this.ask(listGroupsMethod, { projectId, name: '', ...marker, limit })).groups;
  }

  /** One group, with its members. @throws BerthError `not_found / no_such_group`. */
  async show(projectId: string, name: string): Promise<GroupView & Pick<ListGroupsResponse, 'members'>> {
    const one = { projectId, name, markerProjectId: '', markerName: '', limit: 1 };
    const { groups, members } = await this.ask(listGroupsMethod, one);
    return { ...(groups[0] as GroupView), members };
  }

  /** Deletes a group and returns its last content; its members stay. */
  async delete(projectId: string, name: string): Promise<GroupView> {
    return (await this.ask(deleteGroupMethod, { projectId, name })).group;
  }
}
