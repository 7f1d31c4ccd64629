import type { Clock } from '#libs/domain/clock';
import { groupBy } from '#libs/runtime/group-by';
import type { HostHardware } from '../hardware/host-hardware';
import type { ImageProperties } from './instance-images';

/** A compute node; its uuid is that of its root provider. */
export interface NovaNode {
  readonly uuid: string;
  /** `hypervisor_hostname` */
  readonly nodename: string;
  /** The service host: that of its nova-compute. */
  readonly host: string;
  /** Undefined when no cell is known for the host. */
  readonly cellUuid: string | undefined;
  readonly hypervisorType: string;
  readonly hypervisorVersion: number;
  /** Instances in the middle of an operation, as the node says (`current_workload`). */
  readonly ioOps: number;
  /** Disk that its images may still fill at most, as nova-compute measures it; undefined where it does not. */
  readonly diskAvailableLeastGb?: number | undefined;
  /** Facts for `capabilities:` extra specs, by name; objects are nested. */
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** A nova-compute service. */
export interface NovaService {
  readonly host: string;
  readonly isUp: boolean;
  readonly isDisabled: boolean;
}

/** A host aggregate. */
export interface NovaAggregate {
  readonly id: number;
  readonly uuid: string;
  readonly hosts: ReadonlySet<string>;
  readonly metadata: ReadonlyMap<string, string>;
}

/** Nova's API as a source of facts. Each method answers with all there is, or rejects. */
export interface FactSource {
  services(signal: AbortSignal): Promise<readonly NovaService[]>;
  nodes(signal: AbortSignal): Promise<readonly NovaNode[]>;
  aggregates(signal: AbortSignal): Promise<readonly NovaAggregate[]>;
  /** Uuids of instances, by service host. */
  instances(signal: AbortSignal): Promise<ReadonlyMap<string, readonly string[]>>;
}

/** Facts that only Nova's databases tell. */
export interface DatabaseSource {
  /** Uuids of cells, by service host. */
  cells(signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** Hardware of nodes, by uuid. */
  hardware(signal: AbortSignal): Promise<ReadonlyMap<string, HostHardware>>;
  /** Image properties of instances, by uuid. */
  images(signal: AbortSignal): Promise<ReadonlyMap<string, ImageProperties>>;
}

/** All sources together. */
export type FactSources = FactSource & Partial<DatabaseSource>;

/** Kinds of facts that decisions are made on, as they are recorded: cells are part of nodes. */
export const RECORDED_KINDS = ['nodes', 'services', 'aggregates', 'instances', 'hardware', 'images'] as const;
export type RecordedKind = (typeof RECORDED_KINDS)[number];

/** Hears which rows of a kind changed; undefined for all. */
type FactsListener = (of: RecordedKind, keys: readonly string[] | undefined) => void;

export type FactKind = keyof FactSource | keyof DatabaseSource;

const NOTHING: ReadonlySet<string> = new Set();

/**
 * Facts that Nova knows and placement does not: nodes, services, host aggregates, instances. Whole answers replace what was known of a kind;
 * fanouts change single rows in between. A decision reads it synchronously.
 */
export class NovaFacts {
  #nodes = new Map<string, NovaNode>();
  #nodesByHost: ReadonlyMap<string, readonly NovaNode[]> = new Map();
  #services = new Map<string, NovaService>();
  #aggregates = new Map<string, NovaAggregate>();
  #aggregatesByHost = new Map<string, NovaAggregate[]>();
  #instances = new Map<string, Set<string>>();
  #cells: ReadonlyMap<string, string> = new Map();
  #hardware: ReadonlyMap<string, HostHardware> = new Map();
  #images: ReadonlyMap<string, ImageProperties> = new Map();
  readonly #enabledAtMs = new Map<string, number>();
  readonly #knownAtMs = new Map<FactKind, number>();
  #revision = 0;
  #listener: FactsListener | undefined;

  constructor(private readonly clock: Pick<Clock, 'elapsed'>) {}

  node(uuid: string): NovaNode | undefined {
    return this.#nodes.get(uuid);
  }
  nodes(): Iterable<NovaNode> {
    return this.#nodes.values();
  }
  get nodeCount(): number {
    return this.#nodes.size;
  }
  nodesOf(host: string): readonly NovaNode[] {
    return this.#nodesByHost.get(host) ?? [];
  }
  service(host: string): NovaService | undefined {
    return this.#services.get(host);
  }
  aggregates(): NovaAggregate[] {
    return [...this.#aggregates.values()];
  }
  aggregatesOf(host: string): readonly NovaAggregate[] {
    return this.#aggregatesByHost.get(host) ?? [];
  }
  instancesOn(host: string): ReadonlySet<string> {
    return this.#instances.get(host) ?? NOTHING;
  }
  /** Undefined for a node that the database does not tell of. */
  hardware(nodeUuid: string): HostHardware | undefined {
    return this.#hardware.get(nodeUuid);
  }
  /** Undefined for an instance that the database does not tell of. */
  imageOf(instanceUuid: string): ImageProperties | undefined {
    return this.#images.get(instanceUuid);
  }

  /** Changes with nodes, services and aggregates, but not with instances. */
  get revision(): number {
    return this.#revision;
  }

  /** Since when a kind of facts is as old as it is; undefined before the first. */
  ageMs(kind: FactKind): number | undefined {
    const atMs = this.#knownAtMs.get(kind);
    return atMs === undefined ? undefined : this.clock.elapsed() - atMs;
  }

  /** Tells one listener of all changes from now on, each once it is made. */
  onChange(listener: FactsListener | undefined): void {
    this.#listener = listener;
  }

  /** Rows of a kind by uuid, or by service host; lists of instances are not changed later. */
  rowsOf(of: RecordedKind): ReadonlyMap<string, unknown> {
    if (of === 'instances') return new Map([...this.#instances].map(([host, uuids]) => [host, [...uuids]]));
    return {
      nodes: this.#nodes,
      services: this.#services,
      aggregates: this.#aggregates,
      hardware: this.#hardware,
      images: this.#images,
    }[of];
  }

  /** Takes rows of a record. */
  restore(of: RecordedKind, rows: ReadonlyMap<string, unknown>): void {
    if (of === 'nodes') return this.#indexNodes([...(rows as ReadonlyMap<string, NovaNode>).values()]);
    if (of === 'instances')
      this.#instances = new Map([...rows].map(([host, uuids]) => [host, new Set(uuids as readonly string[])]));
    else if (of === 'hardware') this.#hardware = rows as ReadonlyMap<string, HostHardware>;
    else if (of === 'images') this.#images = rows as ReadonlyMap<string, ImageProperties>;
    else if (of === 'services') this.#services = new Map(rows as ReadonlyMap<string, NovaService>);
    else {
      this.#aggregates = new Map(rows as ReadonlyMap<string, NovaAggregate>);
      this.#indexAggregates();
    }
    this.#revision++;
  }

  // Whole answers. `atMs` is when they were asked for, by `elapsed`.

  setNodes(nodes: readonly NovaNode[], atMs: number): void {
    this.#indexNodes(nodes);
    this.#knownAtMs.set('nodes', atMs);
  }

  setServices(services: readonly NovaService[], atMs: number): void {
    for (const [host, enabledAtMs] of this.#enabledAtMs) if (enabledAtMs <= atMs) this.#enabledAtMs.delete(host);
    this.#services = new Map(services.map((service) => [service.host, service]));
    for (const host of this.#enabledAtMs.keys()) this.#enable(host);
    this.#knownAtMs.set('services', atMs);
    this.#changed('services');
  }

  setAggregates(aggregates: readonly NovaAggregate[], atMs: number): void {
    this.#aggregates = new Map(aggregates.map((one) => [one.uuid, one]));
    this.#indexAggregates();
    this.#knownAtMs.set('aggregates', atMs);
  }

  setInstances(byHost: ReadonlyMap<string, readonly string[]>, atMs: number): void {
    this.#instances = new Map([...byHost].map(([host, uuids]) => [host, new Set(uuids)]));
    this.#knownAtMs.set('instances', atMs);
    this.#listener?.('instances', undefined);
  }

  /** Cells by host; nodes of hosts that are not mapped keep the cell that their source told. */
  setCells(cells: ReadonlyMap<string, string>, atMs: number): void {
    this.#cells = cells;
    this.#indexNodes([...this.#nodes.values()]);
    this.#knownAtMs.set('cells', atMs);
  }

  setHardware(hardware: ReadonlyMap<string, HostHardware>, atMs: number): void {
    this.#hardware = hardware;
    this.#knownAtMs.set('hardware', atMs);
    this.#listener?.('hardware', undefined);
  }

  setImages(images: ReadonlyMap<string, ImageProperties>, atMs: number): void {
    this.#images = images;
    this.#knownAtMs.set('images', atMs);
    this.#listener?.('images', undefined);
  }

  // Single rows, of fanouts and of placement.

  /** Counts until services were read that were asked for later. */
  noteEnabled(host: string): void {
    this.#enabledAtMs.set(host, this.clock.elapsed());
    this.#enable(host);
    this.#changed('services', [host]);
  }

  putAggregates(aggregates: readonly NovaAggregate[]): void {
    for (const one of aggregates) this.#aggregates.set(one.uuid, one);
    this.#indexAggregates();
  }

  deleteAggregate(uuid: string): void {
    if (this.#aggregates.delete(uuid)) this.#indexAggregates();
  }

  /** @param replaces  the uuids are all that the host has */
  putInstances(host: string, uuids: readonly string[], replaces: boolean): void {
    // A host that Nova's API does not know yet, or one that somebody made up.
    if (!this.#nodesByHost.has(host)) return;
    const before = replaces ? [] : this.instancesOn(host);
    this.#instances.set(host, new Set([...before, ...uuids]));
    this.#listener?.('instances', [host]);
  }

  deleteInstance(host: string, uuid: string): void {
    if (this.#instances.get(host)?.delete(uuid)) this.#listener?.('instances', [host]);
  }

  #enable(host: string): void {
    const service = this.#services.get(host);
    if (service !== undefined) this.#services.set(host, { ...service, isDisabled: false });
  }

  #indexNodes(read: readonly NovaNode[]): void {
    const nodes = read.map((node) => ({ ...node, cellUuid: this.#cells.get(node.host) ?? node.cellUuid }));
    this.#nodes = new Map(nodes.map((node) => [node.uuid, node]));
    this.#nodesByHost = groupBy(nodes, ({ host }) => host);
    this.#changed('nodes');
  }

  #indexAggregates(): void {
    this.#aggregatesByHost = new Map();
    for (const one of this.#aggregates.values()) {
      for (const host of one.hosts) {
        const known = this.#aggregatesByHost.get(host);
        if (known === undefined) this.#aggregatesByHost.set(host, [one]);
        else known.push(one);
      }
    }
    this.#changed('aggregates');
  }

  /** Notes a change of facts that hosts are put together from. */
  #changed(of: RecordedKind, keys?: readonly string[]): void {
    this.#revision++;
    this.#listener?.(of, keys);
  }
}
