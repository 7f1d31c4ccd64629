import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { RPC_CONDUCTOR, RPC_SCHEDULER, STATS } from '#libs/contracts/queues';
import { asyncApi, callsOf } from '../asyncapi/asyncapi';

const PROTO = join(__dirname, '../../proto');
const text = readFileSync(join(PROTO, 'asyncapi.yaml'), 'utf8');
const document = parse(text) as Record<string, unknown>;

it('is what the code says: npm run proto:asyncapi', () => {
  expect(text).toBe(asyncApi(join(PROTO, '..')));
});

it('knows a queue for every call, those of agents too', () => {
  const calls = callsOf(join(PROTO, '..'));
  const queues = new Set(calls.map(({ queue }) => queue));
  expect(queues).toEqual(new Set([RPC_SCHEDULER.name, RPC_CONDUCTOR.name, STATS.name]));
  const ofAgents = calls.filter(({ queue }) => queue === STATS.name).map(({ name }) => name);
  expect(ofAgents).toEqual(expect.arrayContaining(['AcquireHosts', 'JoinPool', 'WriteNode']));
  expect(ofAgents).not.toContain('ListNodes');
});

it('has the calls that the table of full names has', () => {
  const page = readFileSync(join(PROTO, 'README.md'), 'utf8');
  const rows = page.matchAll(/^\| `(berth\.\w+\.v1)` \| (.*) \|$/gm);
  const named = [...rows].flatMap(([, inPackage, calls = '']) =>
    [...calls.matchAll(/`(\w+)`/g)].map(([, call]) => `${inPackage}.${call}Request`),
  );
  const { messages } = document['components'] as { readonly messages: object };
  const called = new Set(Object.keys(messages).filter((name) => name.endsWith('Request')));
  called.delete('berth.conductor.v1.BuildRequest');
  expect(new Set(named)).toEqual(called);
});

it('has no reference within it that leads nowhere, and none to a file or a message that is not there', () => {
  const found: string[] = [];
  const walk = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === '$ref') found.push(String(inner));
      else walk(inner);
    }
  };
  walk(document);
  expect(found.length).toBeGreaterThan(100);
  expect(found.filter((ref) => !isThere(ref))).toEqual([]);
});

it('refuses by its limits what Berth refuses', () => {
  const $ref = '#/components/schemas/berth.conductor.v1.BuildRequest';
  const isWithin = new Ajv({ strict: false }).compile({ $ref, components: document['components'] });
  const uuid = '5b0f0d6e-8a3c-4e9e-9c0a-0123456789ab';
  const request_spec = { project_id: 'demo', user_id: 'me', resources: { VCPU: 1 } };
  const request = { request_id: uuid, request_spec, count: 1_000, name: 'web' };
  expect(isWithin(request)).toBe(true);
  const wrong = [
    { request_spec },
    { ...request, count: 1_001 },
    { ...request, name: 'x'.repeat(256) },
    { ...request, instance_uuids: Array.from({ length: 1_001 }, () => uuid) },
    { ...request, request_spec: { ...request_spec, resources: { vcpu: 1 } } },
    { ...request, request_spec: { ...request_spec, resources: { VCPU: 0 } } },
  ];
  expect(wrong.filter((one) => isWithin(one))).toEqual([]);
});

function isThere(ref: string): boolean {
  const [file = '', pointer = ''] = ref.split('#');
  if (file !== '') {
    const path = join(PROTO, file);
    return existsSync(path) && readFileSync(path, 'utf8').includes(`\nmessage ${pointer} {`);
  }
  const steps = pointer.split('/').slice(1);
  return (
    steps.reduce<unknown>((at, step) => {
      return (at as Record<string, unknown> | undefined)?.[decodeURIComponent(step).replaceAll('~1', '/')];
    }, document) !== undefined
  );
}
