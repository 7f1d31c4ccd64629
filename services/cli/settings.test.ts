import { Command } from '@commander-js/extra-typings';
import { addressOptions, processOptions } from '#libs/runtime/options';
import { addSettingFlags, flagOf, readSettings } from './settings';

const tables = { addresses: addressOptions, process: processOptions };

function read(args: readonly string[], env: Record<string, string>) {
  const command = addSettingFlags(new Command('scheduler'), { tables }).exitOverride();
  command.parse(args, { from: 'user' });
  return readSettings({ tables }, command, env);
}

it('names the flag of a setting after it', () => {
  expect(flagOf('BERTH_BUS_URL')).toBe('--bus-url');
  expect(flagOf('BERTH_BUS_URL', 'BERTH_AGENT_')).toBe('--bus-url');
  expect(flagOf('BERTH_AGENT_HOSTS', 'BERTH_AGENT_')).toBe('--hosts');
});

it('takes a flag before the environment before the default', () => {
  const env = { BERTH_HTTP_PORT: '9000', BERTH_LOG_LEVEL: 'warn' };
  const config = read(['--http-port', '9001'], env);
  expect(config.process).toMatchObject({ httpPort: 9001, logLevel: 'warn' });
  expect(config.addresses).toEqual({ busUrl: 'memory:', storeUrl: 'memory:', cell: 'cell1' });
});

it('reports wrong flags and wrong variables together', () => {
  expect(() => read(['--http-port', 'x'], { BERTH_LOG_LEVEL: 'loud' })).toThrow(
    /2 problem.*\n.*HTTP_PORT.*\n.*LOG_LEVEL/,
  );
});

it('refuses variables that no part of Berth knows', () => {
  expect(() => read([], { BERTH_BUS_ULR: 'amqp://x' })).toThrow('BERTH_BUS_ULR is not a setting of Berth');
});

it.each([
  ['http://user:hunter2@host/v', "not 'http://user:***@host/v'"],
  ['http://user:hunter/2@host', "not 'http://user:***@host'"],
  ['redis+sentinel://host/m?sentinel_password=hunter2', "not 'redis+sentinel://host/m?sentinel_password=***'"],
  ['user:hunter2@host', "not '***'"],
  ['amqp//user:hunter2@host', "not '***'"],
])('never repeats the password of a malformed address: %s', (url, said) => {
  expect(() => read([], { BERTH_BUS_URL: url })).toThrow(said);
});
