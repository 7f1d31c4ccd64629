import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '../../domain/clock';
import { BerthError } from '../../domain/errors';
import { systemClock } from '../../runtime/system';

/** A private server of a test run, on its own port and in its own folder. */
export interface TestServer {
  readonly url: string;
  readonly port: number;
  /** The folder of its data. */
  readonly folder: string;
  /** Pid of the running process; undefined while it is down. */
  readonly pid: number | undefined;
  /** Sends a signal to the server; resolves when it has ended, if the signal ends it. Port and data stay. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Restarts it (after a SIGTERM if it runs) with the same port and data; resolves when ready. */
  restart(): Promise<void>;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/** The command, port and probe of one kind of server. */
export interface ServerPlan {
  readonly name: string;
  readonly url: string;
  readonly port: number;
  readonly folder: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Bytes to send to the port, and the beginning of the answer once the server is ready; a process without a port is ready at once. */
  readonly probe?: { readonly send: string; readonly expect: string };
}

// Allows for shared machines.
const READY_TIMEOUT_MS = 150_000;
const STOP_TIMEOUT_MS = 15_000;
const POLL_MS = 20;
const clock = systemClock();

/**
 * Starts a server and waits until it answers.
 *
 * The server is the leader of a process group; beside it stands a guard, a shell that waits on a pipe from this
 * process. However this process ends (return, exception, SIGINT, SIGKILL), the pipe closes, and the guard kills the
 * group and removes the folder, so that no run leaves servers behind.
 *
 * @throws BerthError `unavailable / server_did_not_start` with its last lines of output.
 */
export async function startServer(plan: ServerPlan): Promise<TestServer> {
  const server = new ServerProcess(plan);
  await server.restart();
  return server;
}

class ServerProcess implements TestServer {
  readonly url: string;
  readonly port: number;
  readonly folder: string;
  readonly #plan: ServerPlan;
  #child: ChildProcess | undefined;

  constructor(plan: ServerPlan) {
    this.#plan = plan;
    this.url = plan.url;
    this.port = plan.port;
    this.folder = plan.folder;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  kill(signal: NodeJS.Signals): Promise<void> {
    return this.#signal(signal);
  }

  async restart(): Promise<void> {
    await this.#signal('SIGTERM');
    const child = launch(this.#plan);
    this.#child = child;
    child.once('exit', () => {
      this.#child = undefined;
    });
    await waitUntilReady(this.#plan, () => this.#child === child);
  }

  async stop(): Promise<void> {
    // Nothing in the folder is kept, so no orderly shutdown is needed.
    await this.#signal('SIGKILL');
    // Children of the server die a moment after it, and may still write.
    rmSync(this.#plan.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  async #signal(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    const groupId = child?.pid;
    if (child === undefined || groupId === undefined) return;
    process.kill(-groupId, signal);
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') return;
    child.ref();
    const cancel = clock.after(STOP_TIMEOUT_MS, () => process.kill(-groupId, 'SIGKILL'));
    await once(child, 'exit');
    cancel();
  }
}

function launch(plan: ServerPlan): ChildProcess {
  const output = openSync(outputOf(plan), 'a');
  const { command, args, env } = plan;
  const child = spawn(command, args, { cwd: plan.folder, env, detached: true, stdio: ['ignore', output, output] });
  closeSync(output);
  // A command that can't be run has no pid; the wait for readiness detects that.
  child.on('error', () => child.emit('exit'));
  child.unref();
  if (child.pid !== undefined) guard(child, child.pid, plan.folder);
  return child;
}

function guard(child: ChildProcess, groupId: number, folder: string): void {
  const script = 'read -r line || { kill -9 "-$1"; rm -rf "$2"; }';
  const shell = spawn('/bin/sh', ['-c', script, 'guard', String(groupId), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.stdin.on('error', () => {});
  shell.unref();
  (shell.stdin as Socket).unref();
  child.once('exit', () => shell.stdin.end('gone\n'));
}

async function waitUntilReady(plan: ServerPlan, isAlive: () => boolean): Promise<void> {
  if (plan.probe === undefined) return;
  const giveUpAtMs = clock.now() + READY_TIMEOUT_MS;
  while (isAlive() && clock.now() < giveUpAtMs) {
    if (await answers(plan.port, plan.probe)) return;
    await sleep(clock, POLL_MS);
  }
  const lines = readFileSync(outputOf(plan), 'utf8').trimEnd().split('\n').slice(-20).join('\n');
  throw new BerthError('unavailable', 'server_did_not_start', `${plan.name} did not start; it wrote:\n${lines}`);
}

function answers(port: number, probe: { readonly send: string; readonly expect: string }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(probe.send, 'latin1'));
    socket.setTimeout(2_000, () => socket.destroy());
    socket.once('data', (data) => {
      resolve(data.toString('latin1').startsWith(probe.expect));
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}

function outputOf(plan: ServerPlan): string {
  return join(plan.folder, 'output');
}

/** A new folder for one server. */
export function serverFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `berth-${name}-`));
}

/** Below the systems' ephemeral ports, so that nobody else takes one between the check and the use. */
const PORTS = { first: 10_000, blocks: 200, perBlock: 50 };
let block: Promise<number> | undefined;
let taken = 0;

/** A port without a listener, outside the ephemeral range, of a block of this process. */
export async function freePort(): Promise<number> {
  block ??= ownBlock();
  const first = await block;
  for (;;) {
    const port = first + 1 + (taken++ % (PORTS.perBlock - 1));
    const server = await listen(port);
    server?.close();
    if (server) return port;
  }
}

/** The first port of a block, which this process listens on as long as it lives: so no other test process takes the block. */
async function ownBlock(): Promise<number> {
  for (let n = 0; n < PORTS.blocks; n++) {
    const first = PORTS.first + ((process.pid + n) % PORTS.blocks) * PORTS.perBlock;
    const server = await listen(first);
    if (server?.unref()) return first;
  }
  throw new Error(`other tests hold all ${PORTS.blocks} blocks of ports`);
}

async function listen(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1');
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  );
}
