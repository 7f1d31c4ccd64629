// One jest project for each kind of test; `npx jest path` finds the right one by itself.
// Sources run as they are: the condition `berth-source` makes `#libs/...` mean libs/*.ts, not dist.
const rootDir = require('node:path').join(__dirname, '..');
const swc = ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } } }];
// Jest reads CommonJS only.
const ES_MODULES = '@marcbachmann/cel-js';
const common = {
  rootDir,
  // The same for all, so that they share the cache of transformed files.
  id: 'berth',
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['berth-source', 'node', 'require', 'default'] },
  transform: { '^.+\\.ts$': swc, [`/${ES_MODULES}/.+\\.js$`]: swc },
  transformIgnorePatterns: [`/node_modules/(?!${ES_MODULES})`],
  roots: ['<rootDir>/libs', '<rootDir>/services', '<rootDir>/test'],
};
const ofServers = { ...common, setupFilesAfterEnv: ['<rootDir>/test/time-limit.ts'] };
// `npm test` turns these off, and says so.
// oxlint-disable-next-line no-restricted-properties -- Jest reads this file before there is a Config
const { BERTH_TEST_DOCKER, BERTH_TEST_NOVA, BERTH_TEST_POWER_LOSS, BERTH_TEST_UPGRADE } = process.env;
const unlessOff = (setting, path) => (setting === 'off' ? [`<rootDir>/${path}`] : []);
const isContract = '[^/]*contract[^/]*\\.test\\.ts$';

module.exports = {
  rootDir,
  // Unit tests give way to the servers' lanes for their processor: no test measures time by it.
  testTimeout: 300_000,
  projects: [
    // Beside their source; no server.
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/{libs,services,test/bench}/**/*.test.ts'],
      testPathIgnorePatterns: [`<rootDir>/libs/.*${isContract}`],
    },
    // Which part may import which, and how many files a folder holds; no server.
    { ...common, displayName: 'structure', testMatch: ['<rootDir>/test/structure/**/*.test.ts'] },
    // The suites that every adapter of a port passes, on the adapters that need no server.
    { ...common, displayName: 'contract', testMatch: ['<rootDir>/libs/**/*contract*.test.ts'] },
    // Real servers, private to the run: one RabbitMQ and one Redis for all files.
    {
      ...ofServers,
      displayName: 'integration',
      testMatch: ['<rootDir>/test/integration/**/*.test.ts'],
      testPathIgnorePatterns: unlessOff(BERTH_TEST_DOCKER, 'test/integration/compute-agent/docker'),
      globalSetup: '<rootDir>/test/global-setup.ts',
      globalTeardown: '<rootDir>/test/global-teardown.ts',
    },
    // The console in a real browser, on a fleet in this process; its pages must be built.
    { ...ofServers, displayName: 'browser', testMatch: ['<rootDir>/test/browser/**/*.test.ts'] },
    // All of Berth on virtual time.
    { ...common, displayName: 'simulation', testMatch: ['<rootDir>/test/sim/**/*.test.ts'] },
    // Servers and processes are killed while they work.
    {
      ...ofServers,
      displayName: 'fault',
      testMatch: ['<rootDir>/test/faults/**/*.test.ts'],
      globalSetup: '<rootDir>/test/global-setup.ts',
      globalTeardown: '<rootDir>/test/global-teardown.ts',
      testPathIgnorePatterns: [
        ...unlessOff(BERTH_TEST_POWER_LOSS, 'test/faults/store/power-loss'),
        ...unlessOff(BERTH_TEST_UPGRADE, 'test/faults/upgrade'),
      ],
    },
    // Fleets of many hosts, which take minutes: not part of `npm test`.
    {
      ...ofServers,
      displayName: 'fleet',
      testMatch: ['<rootDir>/test/fleet/**/*.test.ts'],
      testPathIgnorePatterns: unlessOff(BERTH_TEST_NOVA, 'test/fleet/whole-nova'),
    },
  ],
};
