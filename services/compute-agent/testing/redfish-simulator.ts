import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '#libs/runtime/system';

const clock = systemClock();

/** An order that a simulated controller took, and under which session. */
export interface TakenOrder {
  readonly node: string;
  /** `Reset On`, `Boot Pxe`, `AssetTag`. */
  readonly what: string;
  /** The `Context` of the session. */
  readonly context: string;
}

export interface SimulatedSystem {
  readonly name: string;
  isOn: boolean;
  assetTag: string;
  bootTarget: string;
  bootEnabled: string;
  bootedAtMs: number;
  /** From what it was switched on, each time. */
  readonly boots: string[];
  etag: number;
}

interface Session {
  readonly id: string;
  readonly token: string;
  readonly userName: string;
  readonly context: string;
}

/** A Redfish service: a BMC with one system, or the manager of several. */
interface Service {
  readonly systems: Map<string, SimulatedSystem>;
  readonly sessions: Map<string, Session>;
}

/** What a simulator is like. */
export interface SimulatorOptions {
  readonly nodes: readonly string[];
  /** One service for all nodes, at the root; else each has one of its own below `/bmc/<node>`. */
  readonly isShared?: boolean;
  readonly bootMs?: number;
  readonly user?: string;
  readonly password?: string;
}

/**
 * Simulated controllers that speak Redfish as DMTF's mock-ups shape it: service root, SessionService with tokens, Systems with ETag,
 * boot override, boot progress and `ComputerSystem.Reset`, Chassis. What was ordered of them is in `orders`.
 */
export class RedfishSimulator {
  readonly orders: TakenOrder[] = [];
  /** Called before an answer is made: a test can hold it, or throw to have the connection cut. */
  onRequest: (method: string, path: string) => void | Promise<void> = () => {};
  readonly #services = new Map<string, Service>();
  readonly #server: Server;
  readonly #options: Required<SimulatorOptions>;

  private constructor(options: SimulatorOptions) {
    this.#options = { isShared: false, bootMs: 0, user: 'berth', password: 'secret', ...options };
    for (const name of options.nodes) {
      const key = this.#options.isShared ? '' : name;
      const service = this.#services.get(key) ?? { systems: new Map(), sessions: new Map() };
      this.#services.set(key, service);
      const id = this.#options.isShared ? name : '1';
      service.systems.set(id, {
        name,
        isOn: false,
        assetTag: '',
        bootTarget: 'None',
        bootEnabled: 'Disabled',
        bootedAtMs: 0,
        boots: [],
        etag: 1,
      });
    }
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.keepAliveTimeout = 60_000;
  }

  static async start(options: SimulatorOptions): Promise<RedfishSimulator> {
    const simulator = new RedfishSimulator(options);
    simulator.#server.listen(0, '127.0.0.1');
    await once(simulator.#server, 'listening');
    return simulator;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The address of a node's ComputerSystem. */
  systemUrl(node: string): string {
    const { isShared } = this.#options;
    return isShared ? `${this.url}/redfish/v1/Systems/${node}` : `${this.url}/bmc/${node}/redfish/v1/Systems/1`;
  }

  system(node: string): SimulatedSystem {
    const { isShared } = this.#options;
    return this.#services.get(isShared ? '' : node)?.systems.get(isShared ? node : '1') as SimulatedSystem;
  }

  /** The contexts of the sessions that a node's service has open. */
  sessions(node: string): string[] {
    const service = this.#services.get(this.#options.isShared ? '' : node);
    return [...(service?.sessions.values() ?? [])].map(({ context }) => context);
  }

  /** Ends all sessions, as controllers do with those that are idle. */
  expireSessions(): void {
    for (const { sessions } of this.#services.values()) sessions.clear();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString();
      const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
      await this.onRequest(request.method ?? '', request.url ?? '');
      this.#route(request, response, body);
    } catch {
      response.destroy();
    }
  }

  #route(request: IncomingMessage, response: ServerResponse, body: Record<string, unknown>): void {
    const { node = '', path = '' } = /^(\/bmc\/(?<node>[^/]+))?(?<path>\/.*)$/.exec(request.url ?? '')?.groups ?? {};
    const service = this.#services.get(node);
    if (!service) return fail(response, 404, 'no such service');
    const { method } = request;
    const token = String(request.headers['x-auth-token'] ?? '');
    const session = [...service.sessions.values()].find((one) => one.token === token);
    const sessionsPath = '/redfish/v1/SessionService/Sessions';
    if (path === '/redfish/v1' || path === '/redfish/v1/') return send(response, 200, SERVICE_ROOT);
    if (path === sessionsPath && method === 'POST') return this.#openSession(response, service, body);
    if (!session) return fail(response, 401, 'no valid session');
    if (path === sessionsPath) return send(response, 200, collection(path, [...service.sessions.keys()]));
    if (path.startsWith(`${sessionsPath}/`)) {
      const id = path.slice(sessionsPath.length + 1);
      const found = service.sessions.get(id);
      if (!found) return fail(response, 404, 'no such session');
      if (method === 'DELETE') {
        service.sessions.delete(id);
        return send(response, 204);
      }
      const { userName: UserName, context: Context } = found;
      return send(response, 200, { '@odata.id': path, Id: id, Name: 'User Session', UserName, Context });
    }
    if (path === '/redfish/v1/Systems') return send(response, 200, collection(path, [...service.systems.keys()]));
    if (path === '/redfish/v1/Chassis') return send(response, 200, collection(path, [...service.systems.keys()]));
    const [, kind, id = '', action = ''] = /^\/redfish\/v1\/(Systems|Chassis)\/([^/]+)(\/.*)?$/.exec(path) ?? [];
    const system = service.systems.get(id);
    if (!kind || !system) return fail(response, 404, `no ${path}`);
    if (kind === 'Chassis') return send(response, 200, this.#chassisBody(path, system));
    if (action === '/Actions/ComputerSystem.Reset' && method === 'POST') {
      return this.#reset(response, system, String(body['ResetType']), session);
    }
    if (action !== '') return fail(response, 404, `no ${path}`);
    if (method === 'PATCH') return this.#patch(request, response, system, body, session);
    return send(response, 200, this.#systemBody(path, system), { etag: `"${system.etag}"` });
  }

  #openSession(response: ServerResponse, { sessions }: Service, body: Record<string, unknown>): void {
    const { UserName = '', Password, Context = '' } = body as Record<string, string | undefined>;
    if (UserName !== this.#options.user || Password !== this.#options.password) {
      return fail(response, 401, 'wrong user or password');
    }
    const id = randomUUID();
    const session = { id, token: randomUUID(), userName: UserName, context: Context };
    sessions.set(id, session);
    const path = '/redfish/v1/SessionService/Sessions';
    const opened = { '@odata.id': `${path}/${id}`, Id: id, Name: 'User Session', UserName, Context };
    send(response, 201, opened, { 'x-auth-token': session.token, location: `${path}/${id}` });
  }

  #reset(response: ServerResponse, system: SimulatedSystem, type: string, session: Session): void {
    if (!RESET_TYPES.includes(type)) return fail(response, 400, `ResetType ${type} is not allowed`);
    this.#note(system, `Reset ${type}`, session);
    const isSwitchedOn = (type === 'On' && !system.isOn) || type === 'ForceRestart';
    system.isOn = type === 'On' || type === 'ForceRestart';
    if (isSwitchedOn) {
      system.boots.push(system.bootEnabled === 'Disabled' ? 'Hdd' : system.bootTarget);
      system.bootedAtMs = clock.elapsed() + this.#options.bootMs;
      if (system.bootEnabled === 'Once') system.bootEnabled = 'Disabled';
    }
    system.etag++;
    send(response, 204);
  }

  #patch(
    request: IncomingMessage,
    response: ServerResponse,
    system: SimulatedSystem,
    body: Record<string, unknown>,
    session: Session,
  ): void {
    const ifMatch = request.headers['if-match'];
    if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== `"${system.etag}"`) {
      return fail(response, 412, 'the ETag is another');
    }
    const { AssetTag } = body as { AssetTag?: string };
    if (AssetTag !== undefined) {
      this.#note(system, 'AssetTag', session);
      system.assetTag = AssetTag;
    }
    const boot = body['Boot'] as { BootSourceOverrideTarget?: string; BootSourceOverrideEnabled?: string } | undefined;
    if (boot) {
      this.#note(system, `Boot ${boot.BootSourceOverrideTarget}`, session);
      system.bootTarget = boot.BootSourceOverrideTarget ?? system.bootTarget;
      system.bootEnabled = boot.BootSourceOverrideEnabled ?? system.bootEnabled;
    }
    system.etag++;
    send(response, 204);
  }

  #note({ name }: SimulatedSystem, what: string, { context }: Session): void {
    this.orders.push({ node: name, what, context });
  }

  #systemBody(path: string, system: SimulatedSystem) {
    const hasBooted = system.isOn && clock.elapsed() >= system.bootedAtMs;
    return {
      '@odata.type': '#ComputerSystem.v1_20_0.ComputerSystem',
      '@odata.id': path,
      Id: path.slice(path.lastIndexOf('/') + 1),
      Name: 'System',
      SystemType: 'Physical',
      HostName: system.name,
      Model: '3500RX',
      AssetTag: system.assetTag,
      PowerState: system.isOn ? 'On' : 'Off',
      Boot: { BootSourceOverrideTarget: system.bootTarget, BootSourceOverrideEnabled: system.bootEnabled },
      BootProgress: { LastState: hasBooted ? 'OSRunning' : 'None' },
      Status: { State: 'Enabled', Health: 'OK' },
      Links: { Chassis: [{ '@odata.id': path.replace('/Systems/', '/Chassis/') }] },
      Actions: {
        '#ComputerSystem.Reset': {
          target: `${path}/Actions/ComputerSystem.Reset`,
          'ResetType@Redfish.AllowableValues': RESET_TYPES,
        },
      },
    };
  }

  #chassisBody(path: string, system: SimulatedSystem) {
    return {
      '@odata.type': '#Chassis.v1_25_0.Chassis',
      '@odata.id': path,
      Id: path.slice(path.lastIndexOf('/') + 1),
      Name: 'Computer System Chassis',
      ChassisType: 'RackMount',
      PowerState: system.isOn ? 'On' : 'Off',
      Links: { ComputerSystems: [{ '@odata.id': path.replace('/Chassis/', '/Systems/') }] },
    };
  }
}

const RESET_TYPES = ['On', 'ForceOff', 'GracefulShutdown', 'ForceRestart'];
const SERVICE_ROOT = {
  '@odata.type': '#ServiceRoot.v1_16_0.ServiceRoot',
  '@odata.id': '/redfish/v1',
  Id: 'RootService',
  Name: 'Root Service',
  RedfishVersion: '1.18.0',
  Systems: { '@odata.id': '/redfish/v1/Systems' },
  Chassis: { '@odata.id': '/redfish/v1/Chassis' },
  SessionService: { '@odata.id': '/redfish/v1/SessionService' },
  Links: { Sessions: { '@odata.id': '/redfish/v1/SessionService/Sessions' } },
};

function collection(path: string, ids: readonly string[]) {
  const Members = ids.map((id) => ({ '@odata.id': `${path}/${id}` }));
  return { '@odata.id': path, Name: 'Collection', 'Members@odata.count': ids.length, Members };
}

function send(response: ServerResponse, status: number, body?: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', 'odata-version': '4.0', ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

function fail(response: ServerResponse, status: number, message: string): void {
  send(response, status, { error: { code: 'Base.1.18.GeneralError', message } });
}
