import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { sleep } from '../../domain/clock';
import { environment, systemClock } from '../../runtime/system';
import { type Binary, findBinary } from './find-binary';
import { mountPoint, type OwnDisk, onOwnDisk } from './own-disk';
import { freePort, serverFolder, startServer, type TestServer } from './server-process';

/** A private RabbitMQ: `amqp://guest:guest@127.0.0.1:<port>`. */
export interface RabbitmqServer extends TestServer {
  /** Runs `rabbitmqctl` on it, such as `('list_queues', 'name')`; resolves to its output. Costs as much as a start. */
  ctl(...args: string[]): Promise<string>;
  /** Evaluates an Erlang expression in it, which takes milliseconds; resolves to the value, as Erlang writes it. */
  eval(expression: string): Promise<string>;
  /** URL of its management API, if it has one. */
  readonly managementUrl: string | undefined;
  /** Address for Prometheus' scrapes, `127.0.0.1:<port>`, if it has one. */
  readonly metricsTarget: string | undefined;
}

export interface RabbitmqOptions {
  /** Settings of rabbitmq.conf besides those that keep it private. */
  readonly config?: Readonly<Record<string, string>>;
  /** Runs the management API as well, which takes a few seconds more. */
  readonly hasManagement?: boolean;
  /** Serves metrics to Prometheus as well. */
  readonly hasMetrics?: boolean;
  /** Joins this broker's cluster, with its users and queues. */
  readonly clusterOf?: RabbitmqServer;
}

// The plain script of Debian's package comes first: the wrapper on PATH requires another user.
const RABBITMQ_SERVER: Binary = {
  name: 'rabbitmq-server',
  folders: ['/usr/lib/rabbitmq/bin'],
  debianPackage: 'rabbitmq-server',
};
/** Also runs as a Sentinel. */
export const REDIS_SERVER: Binary = { name: 'redis-server', folders: ['/usr/bin'], debianPackage: 'redis-server' };

/**
 * Starts a private RabbitMQ (3.10 or later), ready for connections. Takes three seconds.
 *
 * @throws BerthError of `findBinary` and `startServer`.
 */
export async function startRabbitmq(options: RabbitmqOptions = {}): Promise<RabbitmqServer> {
  const command = findBinary(RABBITMQ_SERVER);
  const [port, distPort, managementPort, metricsPort] = await Promise.all([
    freePort(),
    freePort(),
    freePort(),
    freePort(),
  ]);
  const folder = serverFolder('rabbitmq');
  const { config = {}, hasManagement = false, hasMetrics = false } = options;
  const plugins = [
    ...(hasManagement ? [{ name: 'management', port: managementPort }] : []),
    ...(hasMetrics ? [{ name: 'prometheus', port: metricsPort }] : []),
  ];
  const listeners = plugins.flatMap(({ name, port: itsPort }) => [
    [`${name}.tcp.port`, itsPort],
    [`${name}.tcp.ip`, '127.0.0.1'],
  ]);
  const own = Object.fromEntries(listeners) as Record<string, string | number>;
  const settings = {
    'log.file.level': 'warning',
    'disk_free_limit.absolute': '50MB',
    max_message_size: 4_194_304,
    ...own,
    ...config,
  };
  const names = plugins.map(({ name }) => `rabbitmq_${name}`);
  const env = {
    ...rabbitmqEnvironment(command, folder, port, distPort, names),
    ...brokerConfig(folder, settings),
  };
  const url = `amqp://guest:guest@127.0.0.1:${port}`;
  const probe = { send: 'AMQP\x00\x00\x09\x01', expect: '\x01' };
  const server = await startServer({ name: 'RabbitMQ', url, port, folder, command, args: [], env, probe });
  const ctl = async (...args: string[]) =>
    (await promisify(execFile)(join(dirname(command), 'rabbitmqctl'), ['-q', ...args], { env })).stdout;
  if (options.clusterOf) {
    const joined = `ok = rabbit_mnesia:join_cluster('${nodeName(options.clusterOf.port)}', disc)`;
    await evaluate(port, `rabbit:stop(), ${joined}, ok = rabbit:start()`);
  }
  const kill = server.kill.bind(server);
  return Object.assign(server, {
    ctl,
    eval: (expression: string) => evaluate(port, expression),
    managementUrl: hasManagement ? `http://127.0.0.1:${managementPort}` : undefined,
    metricsTarget: hasMetrics ? `127.0.0.1:${metricsPort}` : undefined,
    async kill(signal: NodeJS.Signals) {
      if (signal === 'SIGKILL' && server.pid !== undefined) await evaluate(port, SAVE_NAMES_OF_QUORUM_QUEUES);
      await kill(signal);
    },
  });
}

/**
 * RabbitMQ 3.10 saves the names of its quorum queues every three minutes: a younger queue comes back empty and dead
 * after a kill. That defect is not under test here, so the names are saved before each kill.
 */
const SAVE_NAMES_OF_QUORUM_QUEUES = 'dets:sync(ra_directory_reverse)';

const nodeName = (port: number) => `berth-${port}@localhost`;
/** The cookie of a cluster's brokers. */
const COOKIE = 'brokers-of-a-test';

const ERL_CALL: Binary = { name: 'erl_call', folders: ['/usr/bin'], debianPackage: 'erlang-base' };

/** A broker at work may be slow to take a connection. */
const CONNECT = { attempts: 30, everyMs: 1_000 };

/**
 * Evaluates an Erlang expression in the private broker on a port of this machine.
 *
 * @throws Error with what Erlang says of an expression that fails.
 */
export async function evaluate(port: number, expression: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await evaluateOnce(port, expression);
    } catch (thrown) {
      if (attempt === CONNECT.attempts || !String(thrown).includes('failed to connect')) throw thrown;
      await sleep(systemClock(), CONNECT.everyMs);
    }
  }
}

async function evaluateOnce(port: number, expression: string): Promise<string> {
  const calling = promisify(execFile)(findBinary(ERL_CALL), ['-c', COOKIE, '-n', nodeName(port), '-e']);
  calling.child.stdin?.on('error', () => {});
  calling.child.stdin?.end(`lists:flatten(io_lib:format("~0p", [begin ${expression} end])).\n`);
  const { stdout } = await calling;
  const [, value] = /^\{ok, "(.*)"\}\s*$/s.exec(stdout) ?? [];
  if (value === undefined) throw new Error(`${expression}: ${stdout}`);
  return value;
}

/** Settings that keep a broker private to its folder, and make it start fast. */
function rabbitmqEnvironment(
  command: string,
  folder: string,
  port: number,
  distPort: number,
  pluginNames: readonly string[],
): NodeJS.ProcessEnv {
  const plugins = join(folder, 'enabled-plugins');
  writeFileSync(plugins, `[${pluginNames.join(',')}].`);
  writeFileSync(join(folder, '.erlang.cookie'), COOKIE, { mode: 0o400 });
  return {
    PATH: environment()['PATH'],
    HOME: folder,
    RABBITMQ_NODENAME: nodeName(port),
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_DIST_PORT: String(distPort),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    ERL_CRASH_DUMP: join(folder, 'erl_crash.dump'),
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    RABBITMQ_FEATURE_FLAGS_FILE: join(folder, 'feature-flags'),
    RABBITMQ_ENABLED_PLUGINS_FILE: plugins,
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none',
    // Makes the script exec the broker, so that its pid is the broker's and signals reach it.
    RUNNING_UNDER_SYSTEMD: 'true',
    ...onlyPlugins(command, folder, pluginNames.length > 0 ? BROKER_AND_HTTP : BROKER),
  };
}

function brokerConfig(folder: string, settings: Readonly<Record<string, string | number>>): NodeJS.ProcessEnv {
  const file = join(folder, 'rabbitmq.conf');
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  writeFileSync(file, lines.join(''));
  return { RABBITMQ_CONFIG_FILE: file };
}

const BROKER = /^rabbit-[\d.]+$/;
const BROKER_AND_HTTP =
  /^(rabbit|rabbitmq_(management|management_agent|prometheus|web_dispatch)|amqp_client|cow\w+|prometheus|accept)-[\d.]+$/;

/** Scanning all shipped plugins takes RabbitMQ two of its five seconds: a folder with only the needed ones. */
function onlyPlugins(command: string, folder: string, needed: RegExp): NodeJS.ProcessEnv {
  const shipped = join(dirname(realpathSync(command)), '..', 'plugins');
  try {
    const names = readdirSync(shipped).filter((name) => needed.test(name));
    if (names.length === 0) return {};
    const plugins = join(folder, 'plugins');
    mkdirSync(plugins);
    for (const name of names) symlinkSync(join(shipped, name), join(plugins, name));
    return { RABBITMQ_PLUGINS_DIR: plugins };
  } catch {
    return {};
  }
}

/** A deployed configuration, with some settings replaced by the test's. */
function shippedConfig(configFile: string, own: Readonly<Record<string, string>>): string {
  const lines = readFileSync(configFile, 'utf8').split('\n');
  return `${lines.filter((line) => !((line.split(' ')[0] ?? '') in own)).join('\n')}\n${configText(own)}`;
}

/** The text of a Redis configuration. */
export function configText(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}\n`)
    .join('');
}

export interface RedisServerOptions {
  readonly appendOnly?: boolean;
  /** Its appendfsync policy; default: every second. */
  readonly appendfsync?: string;
  /** Runs it with a deployed configuration and users, except address, port and folder. */
  readonly shipped?: { readonly configFile: string; readonly aclFile: string };
  /** Further settings of redis.conf. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Gives it a private disk for its data. */
  readonly disk?: OwnDisk;
}

/**
 * Starts a private Redis (7 or later), ready for commands. With `appendOnly` its data survives a restart, a killed one
 * included; without, each start is empty.
 *
 * @throws BerthError of `findBinary`, `onOwnDisk` and `startServer`.
 */
export async function startRedis(options: RedisServerOptions = {}): Promise<TestServer> {
  const { appendfsync = 'everysec' } = options;
  const command = findBinary(REDIS_SERVER);
  const port = await freePort();
  const folder = serverFolder('redis');
  const dir = options.disk === undefined ? folder : mountPoint(folder);
  const own = { bind: '127.0.0.1', port: String(port), dir };
  const settings = {
    ...own,
    save: '""',
    appendonly: options.appendOnly ? 'yes' : 'no',
    appendfsync,
    ...options.settings,
  };
  const config = options.shipped
    ? shippedConfig(options.shipped.configFile, { ...own, aclfile: options.shipped.aclFile })
    : configText(settings);
  const configFile = join(folder, 'redis.conf');
  writeFileSync(configFile, config);
  const [program, args] = options.disk
    ? onOwnDisk(options.disk, folder, [command, configFile])
    : [command, [configFile]];
  return startServer({
    name: 'Redis',
    url: `redis://127.0.0.1:${port}`,
    port,
    folder,
    command: program,
    args,
    env: environment(),
    probe: { send: 'PING\r\n', expect: options.shipped ? '-NOAUTH' : '+PONG' },
  });
}
