import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'amqplib';
import { Redis } from 'ioredis';
import { parse, parseAllDocuments } from 'yaml';
import { environment } from '#libs/runtime/system';
import { scriptArguments } from '#libs/testing/servers/child';
import { findBinary } from '#libs/testing/servers/find-binary';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { runLine } from '../../../services/cli/testing/run-line';
import { hasSchema, type Manifest, schemaProblems, typeOf } from './kubernetes-schema';

/* The overlays of deploy/kubernetes as `kubectl kustomize` renders them: by Kubernetes' schemas, and that the trial is the same system as the composition. */

const ROOT = join(__dirname, '../../..');
const DEPLOY = join(ROOT, 'deploy');
const SERVICES = ['scheduler', 'conductor', 'placement-api', 'console', 'compute-agent'];
const AGENTS = ['compute-agent-0', 'compute-agent-1', 'compute-agent-2'];
/** Operators' types, whose schemas are not Kubernetes' own. */
const CUSTOM = [
  'monitoring.coreos.com/v1/PodMonitor',
  'rabbitmq.com/v1beta1/RabbitmqCluster',
  'redis.redis.opstreelabs.in/v1beta2/RedisReplication',
  'redis.redis.opstreelabs.in/v1beta2/RedisSentinel',
];

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly EnvVar[];
  readonly envFrom?: readonly object[];
  readonly readinessProbe?: { readonly httpGet: object };
  readonly livenessProbe?: { readonly httpGet: object };
  readonly securityContext?: object;
  readonly resources?: { readonly requests?: object; readonly limits?: object };
}
interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } };
}
interface Workload extends Manifest {
  readonly spec: {
    readonly replicas: number;
    readonly selector: { readonly matchLabels: object };
    readonly template: {
      readonly spec: {
        readonly containers: readonly Container[];
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: object;
        readonly enableServiceLinks: boolean;
      };
    };
  };
}
interface Composed {
  readonly image: string;
  readonly scale?: number;
  readonly environment: Readonly<Record<string, string>>;
}

const OVERLAYS = ['trial', 'production'] as const;
type Overlay = (typeof OVERLAYS)[number];

let folder: string;
let overlays: Readonly<Record<Overlay, readonly Manifest[]>>;
const composed = parse(readFileSync(join(DEPLOY, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
  readonly services: Readonly<Record<string, Composed>>;
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-kubernetes-'));
  cpSync(DEPLOY, folder, { recursive: true, filter: (path) => !path.endsWith('/credentials') });
  const env = { ...environment(), NODE_OPTIONS: scriptArguments().join(' ') };
  execFileSync('sh', [join(DEPLOY, 'kubernetes/credentials.sh'), credential(''), ...AGENTS], { env, stdio: 'pipe' });
  overlays = { trial: render('trial'), production: render('production') };
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The manifests that `kubectl apply -k` would apply. */
function render(overlay: Overlay): Manifest[] {
  const kubectl = findBinary({ name: 'kubectl', folders: ['/usr/bin'], debianPackage: 'kubernetes-client' });
  const at = join(folder, 'kubernetes/overlays', overlay);
  const text = execFileSync(kubectl, ['kustomize', at], { stdio: 'pipe' }).toString();
  return parseAllDocuments(text).map((document) => unbroken(document.toJS() as Manifest));
}

/**
 * A Secret's data without the line breaks of newer kubectl versions, which every cluster accepts and the schema does
 * not.
 */
function unbroken(manifest: Manifest): Manifest {
  if (manifest.kind !== 'Secret') return manifest;
  const { data } = manifest as Manifest & { data: Record<string, string> };
  const whole = Object.entries(data).map(([key, text]) => [key, text.replaceAll(/\s/g, '')]);
  return { ...manifest, data: Object.fromEntries(whole) } as Manifest;
}

const credential = (file: string) => join(folder, 'kubernetes/credentials', file);

function rendered(kind: string, name: string, manifests = overlays.trial): Manifest {
  const found = manifests.find((it) => it.kind === kind && withoutHash(it) === name);
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found;
}

/** The name of a generated object without the hash of its content. */
function withoutHash({ kind, metadata: { name } }: Manifest): string {
  return kind === 'Secret' || kind === 'ConfigMap' ? unhashed(name) : name;
}

function unhashed(name: string): string {
  return name.replace(/-[a-z0-9]{10}$/, '');
}

const workload = (name: string) => rendered(name === 'compute-agent' ? 'StatefulSet' : 'Deployment', name) as Workload;

function containerOf(name: string): Container {
  const [container, ...others] = workload(name).spec.template.spec.containers;
  if (container === undefined || others.length > 0) throw new Error(`${name} has not one container`);
  return container;
}

/** The data of a Secret or ConfigMap. */
function dataOf(kind: 'Secret' | 'ConfigMap', name: string, manifests = overlays.trial): Record<string, string> {
  const { data } = rendered(kind, name, manifests) as Manifest & { data: Record<string, string> };
  if (kind === 'ConfigMap') return data;
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]));
}

/** A container's environment, as Kubernetes composes it. */
function environmentOf(name: string, pod = `${name}-0`): Record<string, string> {
  const { env, envFrom } = containerOf(name);
  const found: Record<string, string> = envFrom === undefined ? {} : { ...dataOf('ConfigMap', 'settings') };
  for (const { name: variable, value, valueFrom } of env) {
    const secret = valueFrom?.secretKeyRef;
    if (secret !== undefined) found[variable] = dataOf('Secret', unhashed(secret.name))[secret.key] ?? 'no such key';
    else if (value === undefined) found[variable] = pod;
    else found[variable] = value.replaceAll(/\$\((\w+)\)/g, (all, other: string) => found[other] ?? all);
  }
  if (name !== 'compute-agent') return found;
  const [, busUrl = ''] = /^BERTH_BUS_URL=(.*)\n$/.exec(dataOf('Secret', 'agents')[`${pod}.env`] ?? '') ?? [];
  return { ...found, BERTH_BUS_URL: busUrl };
}

it.each(['base', 'fake-hosts', 'monitoring', 'overlays/trial', 'overlays/production', 'credentials'])(
  'names every file of %s in its kustomization.yaml',
  (part) => {
    const kustomization = readFileSync(join(folder, 'kubernetes', part, 'kustomization.yaml'), 'utf8');
    const files = readdirSync(join(folder, 'kubernetes', part)).filter((file) => /\.(yaml|conf|env)$/.test(file));
    const others = files.filter((file) => file !== 'kustomization.yaml');
    expect(others.filter((file) => !kustomization.includes(file))).toEqual([]);
  },
);

it.each(OVERLAYS)('names every Secret and ConfigMap of %s by its content, wherever it is named', (overlay) => {
  const manifests = overlays[overlay];
  const generated = manifests.filter(({ kind }) => kind === 'Secret' || kind === 'ConfigMap');
  expect(generated.map(withoutHash).sort()).toEqual([
    'agents',
    'broker-definitions',
    'passwords',
    'placement-tokens',
    'redis',
    'redis-users',
    'settings',
  ]);
  const others = JSON.stringify(manifests.filter((it) => !generated.includes(it)));
  for (const it of generated) {
    expect(it.metadata.name).toMatch(/-[a-z0-9]{10}$/);
    const isUsed = overlay === 'trial' || withoutHash(it) !== 'agents';
    expect([it.metadata.name, others.includes(`"${it.metadata.name}"`)]).toEqual([it.metadata.name, isUsed]);
  }
  const names =
    /"(?:secretName|redisSecret|secretKeyRef|configMapRef|additionalRedisConfig)":(?:\{"[^}]*?"?name":)?"([^"]+)"/g;
  const named = [...others.matchAll(names)].map(([, name]) => name);
  const byOthers = overlay === 'production' ? ['rabbitmq-tls'] : [];
  expect(named.filter((name) => !generated.some(({ metadata }) => metadata.name === name))).toEqual(byOthers);
});

it.each([
  ['credentials/BERTH_CONDUCTOR_PASSWORD', ['Deployment conductor', 'RedisReplication redis']],
  ['credentials/placement-tokens.json', ['Deployment placement-api', 'Deployment console']],
  ['credentials/rabbitmq-definitions.json', ['RabbitmqCluster rabbitmq']],
  ['credentials/compute-agent-1.env', ['StatefulSet compute-agent']],
  ['base/redis-additional.conf', ['RedisReplication redis']],
])('rolls out a change of %s', (file, readers) => {
  const path = join(folder, 'kubernetes', file);
  const before = readFileSync(path);
  appendFileSync(path, '#');
  const after = render('trial').map((it) => JSON.stringify(it));
  writeFileSync(path, before);
  const changed = overlays.trial.filter((it) => !after.includes(JSON.stringify(it)));
  expect(changed.map(({ kind, metadata: { name } }) => `${kind} ${name}`)).toEqual(expect.arrayContaining(readers));
});

it.each(OVERLAYS)("passes Kubernetes' schemas in %s", (overlay) => {
  const manifests = overlays[overlay];
  expect(manifests.length).toBeGreaterThan(20);
  const own = manifests.filter(hasSchema);
  expect(own.flatMap((it) => schemaProblems(it).map((problem) => `${it.metadata.name}: ${problem}`))).toEqual([]);
  const others = manifests.filter((it) => !hasSchema(it)).map(typeOf);
  expect([...new Set(others)].sort()).toEqual(CUSTOM);
});

it('has no fake hosts in production, and the image, the replicas and the settings of its overlay', () => {
  const { production } = overlays;
  expect(JSON.stringify(production.filter(({ kind }) => kind !== 'Secret'))).not.toMatch(/compute-agent|fake/);
  for (const name of ['scheduler', 'conductor', 'placement-api']) {
    const { replicas, template } = (rendered('Deployment', name, production) as Workload).spec;
    expect([replicas, template.spec.containers[0]?.image]).toEqual([3, 'registry.example.org/berth:0.1.0']);
  }
  const [console] = (rendered('Deployment', 'console', production) as Workload).spec.template.spec.containers;
  expect(console?.env).toContainEqual({ name: 'BERTH_CONSOLE_SECURE_COOKIES', value: 'true' });
  expect(console?.env.length).toBe(containerOf('console').env.length + 1);
  expect(rendered('RabbitmqCluster', 'rabbitmq', production)).toMatchObject({
    spec: { replicas: 3, service: { type: 'LoadBalancer' }, tls: { secretName: 'rabbitmq-tls' } },
  });
});

it.each(OVERLAYS)('has Redis refuse writes in %s well before the kernel would end it', (overlay) => {
  interface Store extends Manifest {
    readonly spec: {
      readonly kubernetesConfig: { readonly resources: { readonly limits: { readonly memory: string } } };
    };
  }
  const { limits } = (rendered('RedisReplication', 'redis', overlays[overlay]) as Store).spec.kubernetesConfig
    .resources;
  const limitGiB = Number(/^(\d+)Gi$/.exec(limits.memory)?.[1]);
  const settings = dataOf('ConfigMap', 'redis', overlays[overlay])['redis-additional.conf'] ?? '';
  const [, amount, unit] = /^maxmemory (\d+)(mb|gb)$/m.exec(settings) ?? [];
  expect(settings).toContain('maxmemory-policy noeviction\n');
  expect(Number(amount) / (unit === 'mb' ? 1_024 : 1) / limitGiB).toBe(0.75);
});

it.each([
  ['livenessProbe', 'livenesProbe', '/spec/template/spec/containers/0/livenesProbe is no field'],
  ['"replicas":2', '"replicas":"two"', '/spec/replicas'],
  ['"selector"', '"selektor"', 'selector'],
])('finds %s as %s', (right, wrong, problem) => {
  const text = JSON.stringify(workload('scheduler')).replace(right, wrong);
  expect(schemaProblems(JSON.parse(text) as Manifest).join('\n')).toContain(problem);
});

describe.each(SERVICES)('%s', (name) => {
  const names = name === 'compute-agent' ? ['compute-agent-1', 'compute-agent-2', 'compute-agent-3'] : [name];
  const inComposition = composed.services[names[0] ?? ''] as Composed;

  it('has settings that exist, with values that they take', async () => {
    const env = environmentOf(name);
    const { code, err, out } = await runLine('config --set --json', env);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const set = (JSON.parse(out) as { name: string }[]).map((setting) => setting.name).sort();
    const ownSettings = Object.keys(env).filter((variable) => variable.startsWith('BERTH_'));
    expect(set).toEqual(ownSettings.sort());
  });

  it('is set, started and stopped as in the composition', () => {
    const own = name === 'compute-agent' ? ['BERTH_AGENT_HOST'] : ['BERTH_STORE_REPLICAS'];
    const set = Object.keys(environmentOf(name)).filter((it) => it !== 'PASSWORD' && !own.includes(it));
    expect(set.sort()).toEqual(Object.keys(inComposition.environment).sort());
    const { spec } = workload(name);
    expect(spec.replicas).toBe(inComposition.scale ?? names.length);
    expect(spec.template.spec.terminationGracePeriodSeconds).toBe(40);
    expect(containerOf(name)).toMatchObject({ image: inComposition.image, args: [name] });
  });

  it('is asked for its health where it answers', () => {
    const { ports, readinessProbe, livenessProbe } = containerOf(name);
    const { BERTH_HTTP_PORT } = Object.fromEntries(
      [...readFileSync(join(DEPLOY, 'Dockerfile'), 'utf8').matchAll(/(BERTH_\w+)=(\S+)/g)].map(([, key, it]) => [
        key,
        it,
      ]),
    ) as Record<string, string>;
    expect(ports).toContainEqual({ name: 'metrics', containerPort: Number(BERTH_HTTP_PORT) });
    expect(readinessProbe?.httpGet).toEqual({ path: '/readyz', port: 'metrics' });
    expect(livenessProbe?.httpGet).toEqual({ path: '/healthz', port: 'metrics' });
  });

  it('has as few rights as it can, a budget for disruptions, and no variables of services', () => {
    const { template, selector } = workload(name).spec;
    expect(template.spec).toMatchObject({ enableServiceLinks: false, automountServiceAccountToken: false });
    expect(template.spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    const { securityContext, resources } = containerOf(name);
    expect(securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(resources).toMatchObject({ requests: { cpu: expect.any(String) }, limits: { memory: expect.any(String) } });
    expect(rendered('PodDisruptionBudget', name)).toMatchObject({ spec: { maxUnavailable: 1, selector } });
  });
});

it.each([
  ['placement-api', 8778],
  ['console', 8780],
])('serves %s at its own port, and lets others reach that', (name, port) => {
  const { ports } = containerOf(name);
  expect(ports).toContainEqual({ name: 'http', containerPort: port });
  expect(rendered('Service', name)).toMatchObject({ spec: { ports: [{ port, targetPort: 'http' }] } });
  expect(rendered('NetworkPolicy', `to-${name}`)).toMatchObject({ spec: { ingress: [{ ports: [{ port }] }] } });
});

it('lets who has a store reach it', () => {
  const policy = JSON.stringify(rendered('NetworkPolicy', 'to-redis'));
  const withStore = SERVICES.filter((name) => 'BERTH_STORE_URL' in environmentOf(name));
  expect(withStore).toEqual(['scheduler', 'conductor', 'placement-api', 'console']);
  for (const name of withStore) expect(policy).toContain(`"${name}"`);
});

it('runs the same RabbitMQ, and sets both servers as the composition does', () => {
  interface Broker extends Manifest {
    readonly spec: { readonly image: string; readonly rabbitmq: { readonly additionalConfig: string } };
  }
  const broker = rendered('RabbitmqCluster', 'rabbitmq') as Broker;
  expect(broker.spec.image).toBe(composed.services['rabbitmq']?.image);
  // The operator's own settings: its listeners, and logging to the console. `management.load_definitions` is the older
  // name.
  const itsOwn = /^(listeners\.|log\.console |management\.load_definitions )/;
  const shipped = settingsIn('rabbitmq/rabbitmq.conf').filter((line) => !itsOwn.test(line));
  expect(broker.spec.rabbitmq.additionalConfig.split('\n')).toEqual(expect.arrayContaining(shipped));
  const store = settingsIn('redis/redis.conf').filter((line) => !/^(bind|protected-mode|aclfile|dir) /.test(line));
  expect(settingsIn('kubernetes/base/redis-additional.conf')).toEqual(store);
});

function settingsIn(file: string): string[] {
  const lines = readFileSync(join(DEPLOY, file), 'utf8').split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

describe('on servers with the users that it writes', () => {
  let servers: readonly TestServer[] = [];
  beforeAll(async () => {
    servers = await Promise.all([
      startRabbitmq({ config: { load_definitions: credential('rabbitmq-definitions.json') } }),
      startRedis({ shipped: { configFile: join(DEPLOY, 'redis/redis.conf'), aclFile: credential('redis-users.acl') } }),
    ]);
  });
  afterAll(() => Promise.all(servers.map((server) => server.stop())));

  it.each(['scheduler', 'conductor', 'console', ...AGENTS])('%s logs in to the broker', async (pod) => {
    const url = new URL(environmentOf(AGENTS.includes(pod) ? 'compute-agent' : pod, pod)['BERTH_BUS_URL'] ?? '');
    expect(url.host).toMatch(/^rabbitmq(\.berth)?:5672$/);
    url.host = `127.0.0.1:${servers[0]?.port}`;
    const connection = await connect(url.href);
    await connection.close();
  });

  /** Redis' answer to a user's command, or its refusal. */
  async function asked(login: { username?: string; password?: string }, command: string, ...args: string[]) {
    const redis = new Redis(servers[1]?.port ?? 0, { ...login, enableReadyCheck: false });
    redis.on('error', () => {});
    const answer = await redis.call(command, ...args).catch((error: Error) => error.message);
    redis.disconnect();
    return answer;
  }

  it.each(['scheduler', 'conductor', 'placement-api', 'console'])('%s logs in to the store', async (name) => {
    const url = environmentOf(name)['BERTH_STORE_URL'] ?? '';
    const [, username = '', password = ''] =
      /^redis\+sentinel:\/\/(\w+):(\w+)@redis-sentinel:26379\/berth$/.exec(url) ?? [];
    expect(await asked({ username, password }, 'GET', '{cell1}:schema')).toBeNull();
    expect(await asked({ username, password }, 'GET', 'else')).toContain('NOPERM');
  });

  it('lets the operator of Redis in as the default user, with the password that it is told, and nobody else', async () => {
    const { BERTH_REDIS_DEFAULT_PASSWORD: password = '' } = dataOf('Secret', 'passwords');
    expect(await asked({ password }, 'CONFIG', 'GET', 'appendfsync')).toMatchObject(['appendfsync', 'always']);
    expect(await asked({}, 'PING')).toContain('NOAUTH');
  });
});
