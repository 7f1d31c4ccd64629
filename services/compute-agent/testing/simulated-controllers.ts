import type { Clock } from '#libs/domain/clock';
import type { Random } from '#libs/domain/random';

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

/** A request as HTTP carries it. */
export interface ControllerRequest {
  readonly method: string;
  readonly path: string;
  readonly token: string;
  readonly ifMatch: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ControllerAnswer {
  readonly status: number;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** What simulated controllers are like. */
export interface ControllerOptions {
  readonly nodes: readonly string[];
  /** One service for all nodes, at the root; else each has one of its own below `/bmc/<node>`. */
  readonly isShared?: boolean;
  /** Whether they know `$expand`. */
  readonly canExpand?: boolean;
  readonly bootMs?: number;
  readonly user?: string;
  readonly password?: string;
}

/** Where their time comes from, and the names of sessions. */
export interface ControllerSurroundings {
  readonly clock: Clock;
  readonly random: Pick<Random, 'uuid'>;
}

/**
 * Simulated controllers that speak Redfish as DMTF's mock-ups shape it, whatever carries requests to them: service root,
 * SessionService with tokens, Systems with ETag, boot override, boot progress and `ComputerSystem.Reset`, Chassis.
 */
export class SimulatedControllers {
  /** Hears of each order that was taken, before it is done. */
  onOrder: (order: TakenOrder, system: SimulatedSystem) => void = () => {};
  readonly #services = new Map<string, Service>();
  readonly #options: Required<ControllerOptions>;

  constructor(
    options: ControllerOptions,
    private readonly around: ControllerSurroundings,
  ) {
    this.#options = { isShared: false, canExpand: true, bootMs: 0, user: 'berth', password: 'secret', ...options };
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
  }

  /** The path of a node's ComputerSystem. */
  systemPath(node: string): string {
    return this.#options.isShared ? `/redfish/v1/Systems/${node}` : `/bmc/${node}/redfish/v1/Systems/1`;
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

  answer(request: ControllerRequest): ControllerAnswer {
    const {
      node = '',
      path = '',
      query,
    } = /^(\/bmc\/(?<node>[^/]+))?(?<path>\/[^?]*)(\?(?<query>.*))?$/.exec(request.path)?.groups ?? {};
    const service = this.#services.get(node);
    if (!service) return fail(404, 'no such service');
    const { method, token, body } = request;
    const session = [...service.sessions.values()].find((one) => one.token === token);
    if (path === '/redfish/v1' || path === '/redfish/v1/') return send(200, SERVICE_ROOT);
    if (path === SESSIONS_PATH && method === 'POST') return this.#openSession(service, body);
    if (!session) return fail(401, 'no valid session');
    if (path === SESSIONS_PATH && query === undefined) return send(200, collection(path, [...service.sessions.keys()]));
    if (path === SESSIONS_PATH) {
      if (query !== '$expand=.' || !this.#options.canExpand) return fail(501, `no ${query}`);
      return send(200, { ...collection(path, []), Members: [...service.sessions.values()].map(sessionBody) });
    }
    if (path.startsWith(`${SESSIONS_PATH}/`)) {
      const id = path.slice(SESSIONS_PATH.length + 1);
      const found = service.sessions.get(id);
      if (!found) return fail(404, 'no such session');
      if (method === 'DELETE') {
        service.sessions.delete(id);
        return send(204);
      }
      return send(200, sessionBody(found));
    }
    if (path === '/redfish/v1/Systems') return send(200, collection(path, [...service.systems.keys()]));
    if (path === '/redfish/v1/Chassis') return send(200, collection(path, [...service.systems.keys()]));
    const [, kind, id = '', action = ''] = /^\/redfish\/v1\/(Systems|Chassis)\/([^/]+)(\/.*)?$/.exec(path) ?? [];
    const system = service.systems.get(id);
    if (!kind || !system) return fail(404, `no ${path}`);
    if (kind === 'Chassis') return send(200, this.#chassisBody(path, system));
    if (action === '/Actions/ComputerSystem.Reset' && method === 'POST') {
      return this.#reset(system, String(body['ResetType']), session);
    }
    if (action !== '') return fail(404, `no ${path}`);
    if (method === 'PATCH') return this.#patch(request, system, session);
    return send(200, this.#systemBody(path, system), { etag: `"${system.etag}"` });
  }

  #openSession({ sessions }: Service, body: Readonly<Record<string, unknown>>): ControllerAnswer {
    const { UserName = '', Password, Context = '' } = body as Record<string, string | undefined>;
    if (UserName !== this.#options.user || Password !== this.#options.password) {
      return fail(401, 'wrong user or password');
    }
    const { random } = this.around;
    const id = random.uuid();
    const session = { id, token: random.uuid(), userName: UserName, context: Context };
    sessions.set(id, session);
    return send(201, sessionBody(session), { 'x-auth-token': session.token, location: `${SESSIONS_PATH}/${id}` });
  }

  #reset(system: SimulatedSystem, type: string, session: Session): ControllerAnswer {
    if (!RESET_TYPES.includes(type)) return fail(400, `ResetType ${type} is not allowed`);
    this.#note(system, `Reset ${type}`, session);
    const isSwitchedOn = (type === 'On' && !system.isOn) || type === 'ForceRestart';
    system.isOn = type === 'On' || type === 'ForceRestart';
    if (isSwitchedOn) {
      system.boots.push(system.bootEnabled === 'Disabled' ? 'Hdd' : system.bootTarget);
      system.bootedAtMs = this.around.clock.elapsed() + this.#options.bootMs;
      if (system.bootEnabled === 'Once') system.bootEnabled = 'Disabled';
    }
    system.etag++;
    return send(204);
  }

  #patch({ ifMatch, body }: ControllerRequest, system: SimulatedSystem, session: Session): ControllerAnswer {
    if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== `"${system.etag}"`) {
      return fail(412, 'the ETag is another');
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
    return send(204);
  }

  #note(system: SimulatedSystem, what: string, { context }: Session): void {
    this.onOrder({ node: system.name, what, context }, system);
  }

  #systemBody(path: string, system: SimulatedSystem) {
    const hasBooted = system.isOn && this.around.clock.elapsed() >= system.bootedAtMs;
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

const SESSIONS_PATH = '/redfish/v1/SessionService/Sessions';
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
  Links: { Sessions: { '@odata.id': SESSIONS_PATH } },
};

function sessionBody({ id: Id, userName: UserName, context: Context }: Session) {
  return { '@odata.id': `${SESSIONS_PATH}/${Id}`, Id, Name: 'User Session', UserName, Context };
}

function collection(path: string, ids: readonly string[]) {
  const Members = ids.map((id) => ({ '@odata.id': `${path}/${id}` }));
  return { '@odata.id': path, Name: 'Collection', 'Members@odata.count': ids.length, Members };
}

function send(
  status: number,
  body?: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): ControllerAnswer {
  return { status, headers, ...(body && { body }) };
}

function fail(status: number, message: string): ControllerAnswer {
  return send(status, { error: { code: 'Base.1.18.GeneralError', message } });
}
