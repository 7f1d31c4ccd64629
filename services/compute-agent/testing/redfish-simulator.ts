import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock, systemRandom } from '#libs/runtime/system';
import {
  type ControllerOptions,
  SimulatedControllers,
  type SimulatedSystem,
  type TakenOrder,
} from './simulated-controllers';

/** Simulated controllers behind HTTP. `orders` lists the accepted orders. */
export class RedfishSimulator {
  readonly orders: TakenOrder[] = [];
  /** Called before an answer is made: a test can delay it, or throw to cut the connection. */
  onRequest: (method: string, path: string) => void | Promise<void> = () => {};
  readonly #controllers: SimulatedControllers;
  readonly #server: Server;

  private constructor(options: ControllerOptions) {
    this.#controllers = new SimulatedControllers(options, { clock: systemClock(), random: systemRandom });
    this.#controllers.onOrder = (order) => this.orders.push(order);
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.keepAliveTimeout = 60_000;
  }

  static async start(options: ControllerOptions): Promise<RedfishSimulator> {
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
    return this.url + this.#controllers.systemPath(node);
  }

  system(node: string): SimulatedSystem {
    return this.#controllers.system(node);
  }

  /** The contexts of the open sessions at a node's service. */
  sessions(node: string): string[] {
    return this.#controllers.sessions(node);
  }

  /** Number of refused logins. */
  get refusedLogins(): number {
    return this.#controllers.refusedLogins;
  }

  /** Ends all sessions, as controllers do with idle ones. */
  expireSessions(): void {
    this.#controllers.expireSessions();
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
      const { method = '', url: path = '', headers: sent } = request;
      await this.onRequest(method, path);
      const {
        status,
        body,
        headers,
        text: page,
      } = this.#controllers.answer({
        method,
        path,
        token: String(sent['x-auth-token'] ?? ''),
        ifMatch: sent['if-match'],
        authorization: sent['authorization'],
        body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
      });
      response.writeHead(status, { 'content-type': 'application/json', 'odata-version': '4.0', ...headers });
      response.end(page ?? (body && JSON.stringify(body)));
    } catch {
      response.destroy();
    }
  }
}
