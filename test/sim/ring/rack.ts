import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Random } from '#libs/domain/random';
import { askOver } from '#libs/simulation/ask-over';
import type { Link } from '#libs/simulation/link';
import type { SimulatedProcess } from '#libs/simulation/simulated-process';
import { redfishController } from '../../../services/compute-agent/drivers/baremetal/redfish/redfish-controller';
import {
  type AskRedfish,
  controllerAway,
  type RedfishRequest,
} from '../../../services/compute-agent/drivers/baremetal/redfish/redfish-http';
import { redfishServices } from '../../../services/compute-agent/drivers/baremetal/redfish/redfish-service';
import type { PoolNodes } from '../../../services/compute-agent/pool/open-node';
import type { ControllerQuirks } from '../../../services/compute-agent/testing/controller-quirks';
import {
  type ControllerAnswer,
  type ControllerRequest,
  SimulatedControllers,
  type SimulatedSystem,
  type TakenOrder,
} from '../../../services/compute-agent/testing/simulated-controllers';
import { pick } from '../actions/common';
import { BOOT_MS, CONTROLLER_TIMEOUT_MS } from './settings';

/** The nodes and their classes. */
export const NODES: Readonly<Record<string, string>> = {
  'node-1': 'GOLD',
  'node-2': 'GOLD',
  'node-3': 'GOLD',
  'node-4': 'GOLD',
  'node-5': 'GOLD',
  'node-6': 'SILVER',
  'node-7': 'SILVER',
  'node-8': 'SILVER',
};
export const NODE_NAMES = Object.keys(NODES);

const ROOT = 'http://rack';
const LOGIN = { user: 'berth', password: 'secret', timeoutMs: CONTROLLER_TIMEOUT_MS };

/** An order that a controller took, with its sender and its epoch. */
export interface RackOrder {
  readonly node: string;
  readonly what: string;
  readonly by: string;
  readonly epoch: number;
  /** The node before the order. */
  readonly system: SimulatedSystem;
}

/** The nodes and their controllers, which agents reach by Redfish over their links. */
export class Rack {
  onOrder: (order: RackOrder) => void = () => {};
  /** Nodes whose controllers do not answer. */
  readonly away = new Set<string>();
  /** Nodes whose controllers answer that something is wrong with them. */
  readonly broken = new Set<string>();
  readonly #controllers: SimulatedControllers;
  /** The process whose request is being answered. */
  #asking = '';

  /** True when the machine boots from its disk, whatever boot device is set. */
  readonly ignoresBootDevice: boolean;
  readonly #clock: Clock;

  constructor({ clock, random }: SimulatedProcess) {
    const quirks = drawQuirks(random);
    this.ignoresBootDevice = quirks.bootDevice !== undefined;
    this.#clock = clock;
    this.#controllers = new SimulatedControllers({ nodes: NODE_NAMES, bootMs: BOOT_MS, quirks }, { clock, random });
    this.#controllers.onOrder = (order, system) => this.#onOrder(order, system);
  }

  system(node: string): SimulatedSystem {
    return this.#controllers.system(node);
  }

  /** True when the last boot of a system is done. */
  isUp(node: string): boolean {
    return this.#clock.elapsed() >= this.system(node).bootedAtMs;
  }

  /** Controllers end idle sessions. */
  expireSessions(): void {
    this.#controllers.expireSessions();
  }

  /** The nodes, as an agent reaches them over its link. */
  reachedBy(link: Link): PoolNodes {
    const services = redfishServices({ ...LOGIN, clock: link.process.clock, ask: this.#askOver(link) });
    return {
      descriptions: Object.entries(NODES).map(([name, nodeClass]) => {
        return { name, resourceClass: classOf(nodeClass), traits: [], resources: {} };
      }),
      controller: (name) => redfishController(name, ROOT + this.#controllers.systemPath(name), services),
    };
  }

  #askOver(link: Link): AskRedfish {
    return (url, request, timeoutMs) => {
      const path = url.slice(ROOT.length);
      return askOver(link, {
        what: describe(path, request),
        timeoutMs,
        effect: async () => this.#answer(link.process.name, path, request),
        describeAnswer: ({ status }) => String(status),
        lost: controllerAway,
        isDroppedWhenLost: true,
      });
    };
  }

  async #answer(by: string, path: string, { method = 'GET', token = '', ifMatch, body = {} }: RedfishRequest) {
    const node = nodeOf(path);
    if (this.away.has(node)) return new Promise<never>(() => {});
    if (this.broken.has(node) && method !== 'GET') throw new BerthError('unavailable', 'controller_away', 'broken');
    this.#asking = by;
    const sent = { method, path, token, ifMatch, body: body as Record<string, unknown> };
    const answer = this.#answered(sent);
    return { status: answer.status, headers: new Headers(answer.headers), body: answer.body ?? {} };
  }

  #answered(sent: ControllerRequest): ControllerAnswer {
    try {
      return this.#controllers.answer(sent);
    } catch (cause) {
      throw controllerAway(ROOT + sent.path, cause);
    }
  }

  /** A mark names its epoch itself. */
  #onOrder({ node, what, context, tag = '' }: TakenOrder, system: SimulatedSystem): void {
    const epoch = Number(/\[berth (\d+)/.exec(tag)?.[1] ?? context.slice(context.lastIndexOf(' ')));
    this.onOrder({ node, what, by: this.#asking, epoch, system });
  }
}

/** Draws the quirks of the rack's controllers: half of all racks follow the standard. Controllers with a weaker fence are left out. */
function drawQuirks(random: Random): ControllerQuirks {
  if (random.next() < 0.5) return {};
  if (random.next() < 0.15) return { bootDevice: 'ignored' };
  return { ...pick(random, SERVED), ...pick(random, SERVED), ...pick(random, SERVED) };
}

const SERVED: readonly ControllerQuirks[] = [
  { etags: 'required' },
  { etags: 'weak' },
  { etags: 'never' },
  { refusesContinuous: true },
  { settingsResource: true },
  { modeRequired: true },
  { redirects: true },
  { htmlErrors: true },
  { busyEach: 31 },
  { cutEach: 61 },
  { slowOffMs: 400 },
  { slowOnMs: 300 },
  { tasks: true },
  { actionInfo: true },
];

export function classOf(nodeClass: string): string {
  return `CUSTOM_BAREMETAL_${nodeClass}`;
}

function nodeOf(path: string): string {
  return /^\/bmc\/([^/]+)/.exec(path)?.[1] ?? '';
}

function describe(path: string, { method = 'GET', body }: RedfishRequest): string {
  const { ResetType, AssetTag, Boot } = (body ?? {}) as {
    ResetType?: string;
    AssetTag?: string;
    Boot?: { BootSourceOverrideTarget?: string };
  };
  const details = ResetType ?? AssetTag ?? Boot?.BootSourceOverrideTarget;
  const last = path.slice(path.lastIndexOf('/') + 1);
  return `${method} ${nodeOf(path)} ${details ?? last}`;
}
