import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/* Rules for every service in deploy/docker-compose.yml. */

const DEPLOY = join(__dirname, '../../deploy');
const text = (file: string) => readFileSync(join(DEPLOY, file), 'utf8');
const read = (file: string) => parse(text(file), { merge: true }) as { services: Record<string, Service> };

interface Service {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const { services } = read('docker-compose.yml');
const processes = Object.keys(services).filter(
  (name) => services[name]?.image?.startsWith('berth:') && name !== 'credentials',
);

it('runs every kind of process', () => {
  expect(new Set(processes.map((name) => services[name]?.command?.[0]))).toEqual(
    new Set(['scheduler', 'conductor', 'placement-api', 'console', 'compute-agent']),
  );
});

it('publishes ports on loopback only, each told in the README', () => {
  const ports = Object.values(services).flatMap((service) => service.ports ?? []);
  expect(ports.length).toBeGreaterThan(5);
  expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  const variables = ports.map((port) => /\$\{(\w+):-/.exec(port)?.[1] ?? port);
  expect(variables.filter((variable) => !text('README.md').includes(variable))).toEqual([]);
});

it('has Prometheus scrape every process', () => {
  const { scrape_configs: jobs } = parse(text('prometheus/prometheus.yml')) as {
    scrape_configs: readonly { job_name: string; dns_sd_configs?: readonly { names: readonly string[] }[] }[];
  };
  const scraped = jobs.find((job) => job.job_name === 'berth')?.dns_sd_configs?.[0]?.names;
  expect([...(scraped ?? [])].sort()).toEqual([...processes].sort());
});

it('gives every process that connects to a server TLS', () => {
  const withTls = read('docker-compose.tls.yml').services;
  const addresses = (service: Service | undefined) =>
    Object.entries(service?.environment ?? {}).filter(([, value]) => /^(amqp|redis)s?:/.test(value));
  for (const name of processes) {
    const plain = addresses(services[name]).map(([key]) => key);
    const tls = addresses(withTls[name]).filter(([, value]) => /^(amqps|rediss):/.test(value));
    expect([name, tls.map(([key]) => key)]).toEqual([name, plain]);
  }
});

it('tells of every password and key that can be set', () => {
  const variables = [...text('docker-compose.yml').matchAll(/\$\{(BERTH_\w+(?:PASSWORD|TOKEN|KEY)):-/g)];
  const names = [...new Set(variables.map(([, name = '']) => name))];
  expect(names.length).toBeGreaterThan(8);
  expect(names.filter((name) => !text('README.md').includes(`${name}=`))).toEqual([]);
});
