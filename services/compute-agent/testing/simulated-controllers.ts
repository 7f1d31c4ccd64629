import type { Clock } from '#libs/domain/clock';
import type { Random } from '#libs/domain/random';
import type { ControllerQuirks } from './controller-quirks';

/** An order that a simulated controller accepted, with its session. */
export interface TakenOrder {
  readonly node: string;
  /** `Reset On`, `Boot Pxe`, `AssetTag`. */
  readonly what: string;
  /** The `Context` of the session. */
  readonly context: string;
  /** The asset tag that it writes. */
  readonly tag?: string | undefined;
}

export interface SimulatedSystem {
  readonly name: string;
  isOn: boolean;
  assetTag: string;
  bootTarget: string;
  bootEnabled: string;
  bootedAtMs: number;
  /** The device of each boot. */
  readonly boots: string[];
  etag: number;
  /** From its firmware. */
  uuid: string;
  serial: string;
  /** Set by its operating system. */
  hostName: string;
  /** When its power-off, or its hidden power-on, ends. */
  switchingUntilMs: number;
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
  readonly authorization?: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ControllerAnswer {
  readonly status: number;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** A body that is not JSON. */
  readonly text?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Settings of simulated controllers. */
export interface ControllerOptions {
  readonly nodes: readonly string[];
  /** True for one service of all nodes, at the root; else each has its own below `/bmc/<node>`. */
  readonly isShared?: boolean;
  /** True when they support `$expand`. */
  readonly canExpand?: boolean;
  readonly bootMs?: number;
  readonly user?: string;
  readonly password?: string;
  readonly quirks?: ControllerQuirks;
}

/** Sources of time and of session names. */
export interface ControllerSurroundings {
  readonly clock: Clock;
  readonly random: Pick<Random, 'uuid'>;
}

/**
 * Simulated controllers that speak Redfish in the form of DMTF's mock-ups, over any transport: service root,
 * SessionService with tokens, Systems with ETag, boot override, boot progress and `ComputerSystem.Reset`, Chassis.
 */
export class SimulatedControllers {
  /** Called for each accepted order, before its execution. */
  onOrder: (order: TakenOrder, system: SimulatedSystem) => void = () => {};
  readonly #services = new Map<string, Service>();
  readonly #options: Required<ControllerOptions>;

  constructor(
    options: ControllerOptions,
    private readonly around: ControllerSurroundings,
  ) {
    this.#options = {
      quirks: {},
      isShared: false,
      canExpand: true,
      bootMs: 0,
      user: 'berth',
      password: 'secret',
      ...options,
    };
    for (const [n, name] of options.nodes.entries()) {
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
        uuid: `0badcafe-0000-4000-8000-${String(n + 1).padStart(12, '0')}`,
        serial: `SN${n + 1}`,
        hostName: name,
        switchingUntilMs: 0,
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

  /** The contexts of the open sessions at a node's service. */
  sessions(node: string): string[] {
    const service = this.#services.get(this.#options.isShared ? '' : node);
    return [...(service?.sessions.values() ?? [])].map(({ context }) => context);
  }

  /** Ends all sessions, as controllers do with idle ones. */
  expireSessions(): void {
    for (const { sessions } of this.#services.values()) sessions.clear();
  }

  /** Number of refused logins. */
  refusedLogins = 0;
  #answered = 0;
  #orderCount = 0;
  #isReplaced = false;
  #taskCount = 0;

  /** @throws Error to cut the connection */
  answer(request: ControllerRequest): ControllerAnswer {
    const { busyEach, cutEach, redirects, htmlErrors, tasks } = this.#options.quirks;
    this.#answered++;
    if (cutEach !== undefined && this.#answered % cutEach === 0) throw new Error('cut');
    if (busyEach !== undefined && this.#answered % busyEach === 0) {
      return { ...fail(503, 'busy'), headers: { 'retry-after': '0' } };
    }
    if (redirects && !request.path.endsWith('/') && !request.path.includes('?')) {
      return send(308, undefined, { location: `${request.path}/` });
    }
    this.#replaceIfDue();
    const answer = this.#plain({ ...request, path: request.path.replace(/(.)\/$/, '$1') });
    if (htmlErrors && answer.status === 401) return { ...answer, body: undefined, text: '<html>401</html>' };
    const isTask = tasks && answer.status === 204 && (request.method === 'PATCH' || request.path.includes('/Actions/'));
    if (!isTask) return answer;
    return send(202, { TaskState: 'Running' }, { location: `${TASKS_PATH}/${++this.#taskCount}`, 'retry-after': '0' });
  }

  /** Somebody else's machines, which run, take the places of all. */
  #replaceIfDue(): void {
    const { replacedAfter = Infinity } = this.#options.quirks;
    if (this.#isReplaced || this.#orderCount < replacedAfter) return;
    this.#isReplaced = true;
    for (const { systems } of this.#services.values()) {
      for (const system of systems.values()) {
        Object.assign(system, { uuid: system.uuid.replace(/^0badcafe/, '0ddba11e'), isOn: true, assetTag: 'theirs' });
        system.boots.length = 0;
        system.bootedAtMs = 0;
        system.etag++;
      }
    }
  }

  #plain(request: ControllerRequest): ControllerAnswer {
    const { quirks } = this.#options;
    const {
      node = '',
      path = '',
      query,
    } = /^(\/bmc\/(?<node>[^/]+))?(?<path>\/[^?]*)(\?(?<query>.*))?$/.exec(request.path)?.groups ?? {};
    const service = this.#services.get(node);
    if (!service) return fail(404, 'no such service');
    const { method, token, body } = request;
    const bySession = [...service.sessions.values()].find((one) => one.token === token);
    if (path === '/redfish/v1') {
      const { SessionService: _service, Links: _links, ...without } = SERVICE_ROOT;
      return send(200, quirks.noSessionService ? without : SERVICE_ROOT);
    }
    if (quirks.noSessionService && path.startsWith('/redfish/v1/SessionService')) return fail(404, `no ${path}`);
    if (path === SESSIONS_PATH && method === 'POST') return this.#openSession(service, body);
    const isBasic = quirks.noSessionService && request.authorization === this.#basic;
    const session = bySession ?? (isBasic ? { id: '', token: '', userName: 'berth', context: 'basic 0' } : undefined);
    if (!session) return fail(401, 'no valid session');
    if (path.startsWith(TASKS_PATH)) return send(200, { TaskState: 'Completed' });
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
    if (quirks.broken?.includes(system.name)) return fail(500, 'something went wrong');
    if (action === '/ResetActionInfo') {
      return send(200, { Parameters: [{ Name: 'ResetType', AllowableValues: RESET_TYPES }] });
    }
    if (action === '/Settings') return this.#settings(request, path, system, session);
    if (action === '/Actions/ComputerSystem.Reset' && method === 'POST') {
      return this.#reset(system, String(body['ResetType']), session);
    }
    if (action !== '') return fail(404, `no ${path}`);
    if (method === 'PATCH') return this.#patch(request, system, session);
    return send(200, this.#systemBody(path, system), { etag: this.#etagOf(system) });
  }

  get #basic(): string {
    const { user, password } = this.#options;
    return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  }

  #etagOf({ etag }: SimulatedSystem): string {
    return `${this.#options.quirks.etags === 'weak' ? 'W/' : ''}"${etag}"`;
  }

  #settings(request: ControllerRequest, path: string, system: SimulatedSystem, session: Session): ControllerAnswer {
    if (!this.#options.quirks.settingsResource) return fail(404, `no ${path}`);
    if (request.method === 'PATCH') return this.#patch(request, system, session, true);
    return send(200, { '@odata.id': path, Boot: this.#bootBody(system) }, { etag: this.#etagOf(system) });
  }

  /** The error answer when the guard blocks a write; undefined when it passes. */
  #refusalOfGuard(ifMatch: string | undefined, { etag }: SimulatedSystem): ControllerAnswer | undefined {
    const { etags } = this.#options.quirks;
    if (ifMatch === undefined) return etags === 'required' ? fail(428, 'If-Match is required') : undefined;
    const isMatch = ifMatch === '*' || (ifMatch === `"${etag}"` && etags !== 'never');
    return isMatch ? undefined : fail(412, 'the ETag is another');
  }

  #openSession({ sessions }: Service, body: Readonly<Record<string, unknown>>): ControllerAnswer {
    const { maxSessions = Infinity, noContext } = this.#options.quirks;
    if (noContext && body['Context'] !== undefined) return fail(400, 'Context is not known');
    const { UserName = '', Password, Context = '' } = body as Record<string, string | undefined>;
    if (UserName !== this.#options.user || Password !== this.#options.password) {
      this.refusedLogins++;
      return fail(401, 'wrong user or password');
    }
    if (sessions.size >= maxSessions) return fail(503, 'no session is left', 'Base.1.18.SessionLimitExceeded');
    const { random } = this.around;
    const id = random.uuid();
    const session = { id, token: random.uuid(), userName: UserName, context: Context };
    sessions.set(id, session);
    return send(201, sessionBody(session), { 'x-auth-token': session.token, location: `${SESSIONS_PATH}/${id}` });
  }

  #reset(system: SimulatedSystem, type: string, session: Session): ControllerAnswer {
    if (!RESET_TYPES.includes(type)) return fail(400, `ResetType ${type} is not allowed`);
    const { slowOffMs = 0, slowOnMs = 0 } = this.#options.quirks;
    const nowMs = this.around.clock.elapsed();
    if (nowMs < system.switchingUntilMs && slowOffMs > 0) return fail(409, 'in transition');
    this.#note(system, `Reset ${type}`, session);
    if (system.isOn && type !== 'On' && slowOffMs > 0) system.switchingUntilMs = nowMs + slowOffMs;
    if (!system.isOn && type === 'On' && slowOnMs > 0) system.switchingUntilMs = nowMs + slowOnMs;
    const isSwitchedOn = (type === 'On' && !system.isOn) || type === 'ForceRestart';
    system.isOn = type === 'On' || type === 'ForceRestart';
    if (isSwitchedOn) {
      const isIgnored = this.#options.quirks.bootDevice !== undefined;
      system.boots.push(system.bootEnabled === 'Disabled' || isIgnored ? 'Hdd' : system.bootTarget);
      system.bootedAtMs = (slowOnMs > 0 ? Math.max(nowMs, system.switchingUntilMs) : nowMs) + this.#options.bootMs;
      if (system.bootEnabled === 'Once' && !isIgnored) system.bootEnabled = 'Disabled';
    }
    system.etag++;
    return send(204);
  }

  #patch(
    { ifMatch, body }: ControllerRequest,
    system: SimulatedSystem,
    session: Session,
    isSettings = false,
  ): ControllerAnswer {
    const { quirks } = this.#options;
    const refusal = this.#refusalOfGuard(ifMatch, system);
    if (refusal) return refusal;
    const asked = body['Boot'] as Readonly<Record<string, string | undefined>> | undefined;
    if (asked && quirks.settingsResource && !isSettings) return fail(405, 'Boot is written at the settings resource');
    if (asked && quirks.modeRequired && asked['BootSourceOverrideMode'] === undefined) {
      return fail(400, 'BootSourceOverrideMode is required');
    }
    if (asked?.['BootSourceOverrideEnabled'] === 'Continuous' && quirks.refusesContinuous) {
      return fail(400, 'BootSourceOverrideEnabled can not be Continuous');
    }
    const { AssetTag } = body as { AssetTag?: string };
    if (AssetTag !== undefined) {
      this.#note(system, 'AssetTag', session, AssetTag);
      if (!quirks.dropsAssetTag) system.assetTag = AssetTag;
    }
    const boot = body['Boot'] as { BootSourceOverrideTarget?: string; BootSourceOverrideEnabled?: string } | undefined;
    if (boot && quirks.bootDevice !== 'dropped') {
      this.#note(system, `Boot ${boot.BootSourceOverrideTarget}`, session);
      system.bootTarget = boot.BootSourceOverrideTarget ?? system.bootTarget;
      system.bootEnabled = boot.BootSourceOverrideEnabled ?? system.bootEnabled;
    }
    system.etag++;
    return send(204);
  }

  #note(system: SimulatedSystem, what: string, { context }: Session, tag?: string): void {
    this.#orderCount++;
    this.onOrder({ node: system.name, what, context, tag }, system);
  }

  #bootBody({ bootTarget, bootEnabled }: SimulatedSystem) {
    const mode = this.#options.quirks.modeRequired ? { BootSourceOverrideMode: 'UEFI' } : {};
    return { BootSourceOverrideTarget: bootTarget, BootSourceOverrideEnabled: bootEnabled, ...mode };
  }

  #powerOf({ isOn, switchingUntilMs }: SimulatedSystem): string {
    if (this.around.clock.elapsed() >= switchingUntilMs) return isOn ? 'On' : 'Off';
    return isOn ? 'Off' : 'PoweringOff';
  }

  #systemBody(path: string, system: SimulatedSystem) {
    const { quirks } = this.#options;
    const isUp = system.isOn && this.around.clock.elapsed() >= system.bootedAtMs;
    const hasBooted = system.isOn && (isUp || quirks.bootProgress === 'running');
    return {
      '@odata.type': '#ComputerSystem.v1_20_0.ComputerSystem',
      '@odata.id': path,
      Id: path.slice(path.lastIndexOf('/') + 1),
      Name: 'System',
      SystemType: 'Physical',
      UUID: system.uuid,
      SerialNumber: system.serial,
      HostName: system.hostName,
      Model: '3500RX',
      AssetTag: system.assetTag,
      PowerState: this.#powerOf(system),
      Boot: this.#bootBody(system),
      ...(quirks.bootProgress === 'absent' ? {} : { BootProgress: { LastState: hasBooted ? 'OSRunning' : 'None' } }),
      ...(quirks.settingsResource
        ? { '@Redfish.Settings': { SettingsObject: { '@odata.id': `${path}/Settings` } } }
        : {}),
      Status: { State: 'Enabled', Health: 'OK' },
      Links: { Chassis: [{ '@odata.id': path.replace('/Systems/', '/Chassis/') }] },
      Actions: {
        '#ComputerSystem.Reset': {
          target: `${path}/Actions/ComputerSystem.Reset`,
          ...(quirks.actionInfo
            ? { '@Redfish.ActionInfo': `${path}/ResetActionInfo` }
            : { 'ResetType@Redfish.AllowableValues': RESET_TYPES }),
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
const TASKS_PATH = '/redfish/v1/TaskService/Tasks';
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

function fail(status: number, message: string, code = 'Base.1.18.GeneralError'): ControllerAnswer {
  return send(status, { error: { code, message } });
}
