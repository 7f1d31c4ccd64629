import {
  booleanOption,
  enumOption,
  intOption,
  listOption,
  numberOption,
  readConfig,
  readConfigs,
  unknownNames,
} from './config';

const options = {
  attempts: intOption({ env: 'BERTH_TEST_ATTEMPTS', default: 3, min: 1, max: 10, help: 'Tries.' }),
  ratio: numberOption({ env: 'BERTH_TEST_RATIO', default: 1.5, min: 0, max: 16, help: 'Ratio.' }),
  enabled: booleanOption({ env: 'BERTH_TEST_ENABLED', default: true, help: 'On.' }),
  mode: enumOption({ env: 'BERTH_TEST_MODE', default: 'pack', values: ['pack', 'spread'], help: 'Mode.' }),
  filters: listOption({ env: 'BERTH_TEST_FILTERS', default: ['a'], values: ['a', 'b'], help: 'Filters.' }),
} as const;

it('gives the default of what is not set or empty', () => {
  const config = readConfig(options, { BERTH_TEST_ATTEMPTS: '' });
  expect(config).toEqual({ attempts: 3, ratio: 1.5, enabled: true, mode: 'pack', filters: ['a'] });
  expect(Object.isFrozen(config)).toBe(true);
});

it('reads each kind of option from its text', () => {
  const env = {
    BERTH_TEST_ATTEMPTS: '10',
    BERTH_TEST_RATIO: '0.25',
    BERTH_TEST_ENABLED: 'false',
    BERTH_TEST_MODE: 'spread',
    BERTH_TEST_FILTERS: 'b, a',
  };
  expect(readConfig(options, env)).toEqual({
    attempts: 10,
    ratio: 0.25,
    enabled: false,
    mode: 'spread',
    filters: ['b', 'a'],
  });
});

it('reports every problem at once, each with the name and what is allowed', () => {
  const env = {
    BERTH_TEST_ATTEMPTS: '11',
    BERTH_TEST_RATIO: 'much',
    BERTH_TEST_ENABLED: 'yes',
    BERTH_TEST_MODE: 'random',
    BERTH_TEST_FILTERS: 'a,c',
  };
  expect(() => readConfig(options, env)).toThrow(
    [
      'the configuration has 5 problems:',
      "  BERTH_TEST_ATTEMPTS must be a whole number from 1 to 10, not '11'",
      "  BERTH_TEST_RATIO must be a number from 0 to 16, not 'much'",
      "  BERTH_TEST_ENABLED must be true or false, not 'yes'",
      "  BERTH_TEST_MODE must be one of pack, spread, not 'random'",
      "  BERTH_TEST_FILTERS does not know 'c'; known: a, b",
    ].join('\n'),
  );
});

it('reads tables side by side, and reports their problems together, shared ones once', () => {
  const tables = {
    one: { mode: options.mode, size: options.ratio },
    other: { mode: options.mode, size: options.attempts },
  };
  const env = { BERTH_TEST_RATIO: '2', BERTH_TEST_ATTEMPTS: '9' };
  expect(readConfigs(tables, env)).toEqual({ one: { mode: 'pack', size: 2 }, other: { mode: 'pack', size: 9 } });
  const wrong = { BERTH_TEST_MODE: 'x', BERTH_TEST_RATIO: 'x', BERTH_TEST_ATTEMPTS: 'x' };
  expect(() => readConfigs(tables, wrong)).toThrow(/3 problem[^]*MODE[^]*RATIO[^]*ATTEMPTS/);
});

it.each(['1.5', ' 3', '0x3', '1e1', ''.padEnd(400, '9')])('does not take %p for a whole number', (text) => {
  expect(() => readConfig(options, { BERTH_TEST_ATTEMPTS: text })).toThrow('BERTH_TEST_ATTEMPTS');
});

it('refuses names that no table knows, and leaves those of others alone', () => {
  const env = { BERTH_TEST_MODE: 'pack', BERTH_TSET_MODE: 'pack', PATH: '/bin' };
  expect(unknownNames([options], env)).toEqual([
    'BERTH_TSET_MODE is not a setting of Berth; did you mean BERTH_TEST_MODE?',
  ]);
  expect(unknownNames([options], { BERTH_ELSE: '1' })).toEqual([
    "BERTH_ELSE is not a setting of Berth; 'berth config' lists them",
  ]);
  expect(unknownNames([options], { BERTH_TEST_MODE: 'pack', PATH: '/bin' })).toEqual([]);
});

describe('what Kubernetes adds for services of the namespace', () => {
  const links = {
    BERTH_SERVICE_HOST: '10.0.0.1',
    BERTH_SERVICE_PORT: '8778',
    BERTH_SERVICE_PORT_HTTP: '8778',
    BERTH_PORT: 'tcp://10.0.0.1:8778',
    BERTH_PORT_8778_TCP: 'tcp://10.0.0.1:8778',
    BERTH_PORT_8778_TCP_ADDR: '10.0.0.1',
    BERTH_TEST_SERVICE_HOST: '10.0.0.2',
    BERTH_TEST_PORT: 'tcp://10.0.0.2:9000',
  };
  const port = { port: intOption({ env: 'BERTH_TEST_PORT', default: 1, min: 1, max: 65_535, help: 'Port.' }) };

  it('is no unknown setting', () => {
    expect(unknownNames([options, port], links)).toEqual([]);
    expect(unknownNames([options], { ...links, BERTH_SERVICE_HOTS: 'x' })).toHaveLength(1);
  });

  it('is no value of a setting of that name, which a number still is', () => {
    expect(readConfig(port, links)).toEqual({ port: 1 });
    expect(readConfig(port, { ...links, BERTH_TEST_PORT: '9000' })).toEqual({ port: 9_000 });
    expect(() => readConfig(port, { BERTH_TEST_PORT: 'tcp://10.0.0.2:9000' })).toThrow('BERTH_TEST_PORT');
  });
});
