import * as fc from 'fast-check';
import { NEWEST } from '../http/microversion';
import { ROUTES, type Route } from '../routes';
import { at, type Schema } from '../schemas/parts';
import { arbitraryOf, uuids } from './arbitrary-value';
import { broken } from './broken-value';
import { AGGREGATES, CLASSES, CONSUMERS, PROVIDERS, TRAITS, UUIDS } from './fuzzed-state';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'];

/** A request as sent over the wire. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string | undefined;
}

/** Requests to every route at every microversion: valid ones, and ones with one or more faults. */
export const requests: fc.Arbitrary<WireRequest> = fc
  .tuple(fc.constantFrom(...ROUTES), versions())
  .chain(([route, version]) => requestsTo(route, version));

function requestsTo(route: Route, version: string): fc.Arbitrary<WireRequest> {
  const given = { 'openstack-api-version': `placement ${version}` };
  const { method, path, headers } = partsOf(route);
  return (
    fc
      .record({ method, path, headers: headers.map((odd) => ({ ...given, ...odd })), body: bodyOf(route, version) })
      // Shown in the report of a failed run.
      .map((request) => Object.defineProperty(request, fc.toStringMethod, { value: () => shown(request) }))
  );
}

/** The arbitraries that do not depend on the version, built once because building is slower than drawing. */
const partsOf = once((route: Route) => ({
  method: mostly(fc.constant<string>(route.method), fc.constantFrom(...METHODS)),
  path: fc.tuple(pathOf(route), queryOf(route)).map(([path, query]) => (query === '' ? path : `${path}?${query}`)),
  headers: headersOf(route),
}));

function once<K extends object, T>(make: (key: K) => T): (key: K) => T {
  const made = new WeakMap<K, { readonly value: T }>();
  return (key) => {
    const known = made.get(key) ?? { value: make(key) };
    made.set(key, known);
    return known.value;
  };
}

/** The request as text, for the report. */
export function shown({ method, path, headers, body }: WireRequest): string {
  const told = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return [`${method} ${path}`, ...told, body ?? ''].map((line) => cut(line)).join('\n    ');
}

function cut(line: string): string {
  return line.length <= 600 ? line : `${line.slice(0, 600)}… (${line.length} characters)`;
}

/** Nine of ten are valid, so that most requests reach the handlers. */
function mostly<T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: odd });
}

function versions(): fc.Arbitrary<string> {
  const minors = fc.integer({ min: 0, max: NEWEST + 1 });
  return fc.oneof(
    fc.constant('latest'),
    minors.map((minor) => `1.${minor}`),
    minors.map((minor) => `1.${minor}`),
  );
}

const oddTexts = fc.oneof(
  fc.constantFrom(
    '',
    '__proto__',
    'constructor',
    'toString',
    'null',
    '0',
    '-1',
    'x'.repeat(3_000),
    '\u0000',
    '\ud83d\ude80',
    '../..',
    "' OR 1=1",
    '${x}',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const rubbish = fc.constantFrom('%', '%ff', '%c3%28', '%00', '%2F', '%u0041', '+', '%25', '%0d%0a');

function pathOf(route: Route): fc.Arbitrary<string> {
  const step = (name: string): fc.Arbitrary<string> => {
    const good = GOOD_STEPS[name]?.(route) ?? uuids;
    return mostly(
      good,
      fc.oneof(
        oddTexts.map(encoded),
        rubbish,
        uuids.map((uuid) => uuid.toUpperCase()),
      ),
    );
  };
  const steps = route.path
    .split('/')
    .map((part) => (part.startsWith('{') ? step(part.slice(1, -1)) : fc.constant(part)));
  return fc.tuple(...steps).map((parts) => parts.join('/') || '/');
}

/** A parameter of a path, mostly one that exists. */
const GOOD_STEPS: Readonly<Record<string, (route: Route) => fc.Arbitrary<string>>> = {
  uuid: () => fc.constantFrom(...PROVIDERS),
  consumer_uuid: () => fc.constantFrom(...CONSUMERS, ...UUIDS),
  resource_class: () => fc.constantFrom(...CLASSES),
  name: ({ path }) => fc.constantFrom(...(path.startsWith('/traits') ? TRAITS : CLASSES)),
};

function encoded(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString());
}

const GROUPED = ['resources', 'required', 'member_of', 'in_tree'];
const PLAIN = [
  'limit',
  'group_policy',
  'same_subtree',
  'root_required',
  'name',
  'uuid',
  'project_id',
  'user_id',
  'consumer_type',
  'associated',
];

function queryOf(route: Route): fc.Arbitrary<string> {
  if (route.method !== 'GET' || !route.input) return mostly(fc.constant(''), parameters(3));
  const many = fc
    .tuple(
      fc.oneof(fc.integer({ min: 1, max: 110 }), fc.integer({ min: 1, max: 1_500 })),
      fc.constantFrom('resources', 'required', 'member_of'),
      values(),
      fc.constantFrom('none', 'isolate'),
    )
    .map(([count, name, value, policy]) => {
      const groups = Array.from({ length: count }, (_, i) => `${name}${i + 1}=${value}`);
      return [`group_policy=${policy}`, ...groups].join('&');
    });
  return fc.oneof({ weight: 12, arbitrary: parameters(6) }, { weight: 1, arbitrary: many });
}

function parameters(maxLength: number): fc.Arbitrary<string> {
  const suffix = fc.constantFrom('', '', '', '1', '2', '_a');
  const grouped = fc.tuple(fc.constantFrom(...GROUPED), suffix).map((parts) => parts.join(''));
  const name = mostly(fc.oneof(grouped, grouped, fc.constantFrom(...PLAIN)), fc.oneof(oddTexts.map(encoded), rubbish));
  const pair = fc.tuple(name, values()).map(([key, value]) => `${key}=${value}`);
  // Half have resources, which candidates require.
  const first = fc.constantFrom('', 'resources=VCPU:1', 'resources1=VCPU:1&resources2=CUSTOM_A:1&group_policy=isolate');
  return fc
    .tuple(first, fc.array(pair, { maxLength }))
    .map(([start, pairs]) => [...(start ? [start] : []), ...pairs].join('&'));
}

function values(): fc.Arbitrary<string> {
  const amount = fc.oneof(
    fc.integer({ min: 0, max: 20 }).map(String),
    fc.constantFrom('2147483648', '9'.repeat(40), '-1', 'x', '1e3'),
  );
  const resources = fc.array(
    fc.tuple(fc.constantFrom(...CLASSES), amount).map((pair) => pair.join(':')),
    { minLength: 1, maxLength: 3 },
  );
  const listed = (names: readonly string[]) =>
    fc
      .tuple(fc.constantFrom('', '', 'in:', '!', '!in:'), fc.subarray([...names], { minLength: 1 }))
      .map(([how, of]) => how + of.join(','));
  const words = fc.constantFrom(
    'none',
    'isolate',
    '1',
    '_a',
    '1,2,_a',
    ',',
    'all',
    'unknown',
    'INSTANCE',
    'true',
    'startswith:CUSTOM',
    '5',
  );
  const good = fc.oneof(
    resources.map((all) => all.join(',')),
    listed(TRAITS),
    listed(AGGREGATES),
    uuids,
    words,
  );
  return mostly(good, fc.oneof(oddTexts.map(encoded), rubbish));
}

function headersOf(route: Route): fc.Arbitrary<WireRequest['headers']> {
  const usual = { 'x-auth-token': 'admin', ...(takesBody(route) ? { 'content-type': 'application/json' } : {}) };
  const text = fc.oneof(
    fc.constantFrom(
      '',
      ',',
      ';',
      '*/*',
      'text/html',
      'text/plain;q=0',
      'application/json;charset=x',
      'placement',
      'placement 1.',
      'q=',
      '"',
      'placement latest,',
    ),
    fc.stringMatching(/^[ -~\xa1-\xff]{0,30}$/),
    fc.constant('z'.repeat(5_000)),
  );
  const name = fc.constantFrom(
    'accept',
    'content-type',
    'openstack-api-version',
    'x-auth-token',
    'x-roles',
    'openstack-system-scope',
    'origin',
    'host',
    'accept-encoding',
    'if-match',
    'content-encoding',
    'x-http-method-override',
    'cookie',
    'x-openstack-request-id',
  );
  const odd = fc.dictionary(name, mostly(text, fc.constant(undefined) as unknown as fc.Arbitrary<string>), {
    minKeys: 1,
    maxKeys: 3,
  });
  return fc.oneof(
    { weight: 5, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: odd.map((more) => ({ ...usual, ...more })) },
  );
}

function bodyOf(route: Route, version: string): fc.Arbitrary<string | undefined> {
  const schema = at(route.input, version === 'latest' ? NEWEST : Number(version.slice(2)));
  return schema && takesBody(route) ? bodiesOf(schema) : noBody;
}

function takesBody({ method, input }: Route): boolean {
  return method !== 'GET' && input !== undefined;
}

const noBody: fc.Arbitrary<string | undefined> = mostly(
  fc.constant(undefined),
  fc.constantFrom('{}', 'null', '{', '[]'),
);

const bodiesOf = once((schema: Schema): fc.Arbitrary<string | undefined> => {
  const allowed = arbitraryOf(schema);
  const good = allowed.map((value) => JSON.stringify(value));
  const bad = broken(allowed).map((value) => JSON.stringify(value));
  const cutShort = good.map((text) => text.slice(0, -1));
  const deep = fc.constantFrom('['.repeat(20_000), '{"a":'.repeat(5_000), `${'['.repeat(3_000)}${']'.repeat(3_000)}`);
  const anything = fc.jsonValue().map((value) => JSON.stringify(value));
  return fc.oneof(
    { weight: 12, arbitrary: good },
    { weight: 8, arbitrary: bad },
    { weight: 1, arbitrary: fc.oneof(cutShort, deep, fc.constant(undefined), anything) },
  );
});
