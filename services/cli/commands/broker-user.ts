import { randomBytes } from 'node:crypto';
import { Command, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { cellOf } from '#libs/contracts/cells';
import { projectId as checkedProjectId } from '#libs/contracts/checks';
import {
  canHaveAgents,
  canHaveUser,
  carries,
  type Identity,
  identityOf,
  type RestrictedIdentity,
  userOf,
} from '#libs/contracts/identity';
import { agentQueue } from '#libs/contracts/queues';
import { DEFAULT_CELL } from '#libs/domain/cells/cell';
import { BerthError } from '#libs/domain/errors';
import { BrokerManagement } from '../client/broker-management';
import { brokerSettings } from '../client/client-options';
import { withBus } from '../client/with-client';
import type { Context } from '../context';
import { usageError } from '../failure';
import { addHelp } from '../help-text';
import { addSettingFlags, readSettings } from '../settings';
import { facts } from '../views/table';

/** `berth agent enrol`: a host's user on the broker, and its order queue. */
export function agentCommand(context: Context): CommandUnknownOpts {
  const enrol = new Command('enrol')
    .argument('<host>', 'the BERTH_AGENT_HOST of the agent')
    .option('--carries', 'it also carries the hosts <host>-1, <host>-2, ...', false)
    .addOption(new Option('--pool <pool>', 'it shares the nodes of this pool, and has no host').conflicts('carries'))
    .option('--revoke', 'remove the user instead, and close its connections; the order queue stays', false)
    .option('--json', 'print one JSON value', false);
  addSettingFlags(enrol, brokerSettings).action((host, { carries: carriesOthers, pool, revoke, json }) => {
    if (pool !== undefined && !canHaveAgents(pool))
      throw usageError(
        `the agents of pool '${pool}' can have no users`,
        'its name has 1 to 40 letters, digits, underscores and dashes, and no dots',
      );
    const identity = { kind: 'agent', host, carriesOthers, ...(pool !== undefined && { pool }) } as const;
    return issue(context, enrol, identity, { revoke, json });
  });
  addHelp(enrol, [
    ['berth agent enrol host-7', 'its bus URL, for BERTH_BUS_URL on host-7; once more gives it a new password'],
    ['berth agent enrol metal-a --pool rack7', 'one of the agents that share the nodes of pool rack7'],
    ['berth agent enrol host-7 --revoke', 'host-7 can no longer report or take orders'],
  ]);
  return new Command('agent').description('Give agents users of their own on the broker.').addCommand(enrol);
}

/** `berth project credentials`: a tenant's user on the broker. */
export function projectCommand(context: Context): CommandUnknownOpts {
  const credentials = new Command('credentials')
    .argument('<project>', 'the project that the user acts for')
    .option('--revoke', 'remove the user instead, and close its connections', false)
    .option('--json', 'print one JSON value', false);
  addSettingFlags(credentials, brokerSettings).action((projectId, flags) =>
    issue(context, credentials, { kind: 'project', projectId }, flags),
  );
  addHelp(credentials, [
    [
      'berth project credentials demo',
      'a bus URL with which to build, list, terminate and listen, for project demo only',
    ],
    ['berth project credentials demo --revoke', 'the end of it'],
  ]);
  return new Command('project').description('Give projects users of their own on the broker.').addCommand(credentials);
}

interface IssueFlags {
  readonly revoke: boolean;
  readonly json: boolean;
}

function issue(
  context: Context,
  command: CommandUnknownOpts,
  identity: RestrictedIdentity,
  { revoke, json }: IssueFlags,
): Promise<void> {
  const { terminal, env } = context;
  const name = identity.kind === 'agent' ? identity.host : identity.projectId;
  if (!canHaveUser(name)) {
    throw usageError(`'${name}' can have no user`, 'a name has 1 to 100 letters, digits, dots, underscores and dashes');
  }
  if (identity.kind === 'project') checkedProjectId(name, 'project');
  const { client, broker } = readSettings(brokerSettings, command, env);
  return withBus(context, command, async (bus) => {
    const busUrl = new URL(client.busUrl);
    const management = managementOf(busUrl, broker.managementUrl);
    const { cell } = client;
    const user = userOf(identity, cell);
    if (revoke) {
      await management.removeUser(user);
      if (json) terminal.json({ user, revoked: true });
      else terminal.print(`${user} is revoked`);
      return;
    }
    refuseOverlap(identity, cell, await management.users());
    const password = randomBytes(24).toString('base64url');
    if (identity.kind === 'agent') await bus.declare(agentQueue(identity.host));
    await management.putUser(identity, cell, password);
    busUrl.username = user;
    busUrl.password = password;
    if (json) terminal.json({ user, password, busUrl: busUrl.href, cell });
    else
      terminal.print(
        facts(terminal, [
          ['user', user],
          ['password', password],
          ['BERTH_BUS_URL', busUrl.href],
          ...(identity.kind === 'agent' && identity.pool !== undefined
            ? [['BERTH_AGENT_POOL', identity.pool] as const]
            : []),
          ...(cell === DEFAULT_CELL ? [] : [['BERTH_CELL', cell] as const]),
        ]),
      );
  });
}

/** @throws BerthError `failed_precondition / host_enrolled` when two users could report for one host. */
function refuseOverlap(identity: RestrictedIdentity, cell: string, users: readonly string[]): void {
  if (identity.kind === 'project') return;
  const other = users.find((user) => user !== userOf(identity, cell) && overlaps(identity, cell, user));
  if (other === undefined) return;
  const hint = `berth agent enrol ${flagsOf(identityOf(other, cell))} --revoke`;
  const message = `the broker's user ${other} may report for a host that ${userOf(identity, cell)} would report for`;
  throw new BerthError('failed_precondition', 'host_enrolled', message, { details: { hint } });
}

function flagsOf(identity: Identity): string {
  if (identity.kind !== 'agent') return '';
  const { host, carriesOthers, pool } = identity;
  if (pool !== undefined) return `${host} --pool ${pool}`;
  return carriesOthers ? `${host} --carries` : host;
}

function overlaps(one: Extract<RestrictedIdentity, { kind: 'agent' }>, cell: string, user: string): boolean {
  if (cellOf(user) !== cell) return false;
  const other = identityOf(user, cell);
  if (other.kind !== 'agent') return false;
  const isCarried = (host: string, by: typeof other) => by.carriesOthers && carries(by.host, host);
  return one.host === other.host || isCarried(one.host, other) || isCarried(other.host, one);
}

function managementOf({ protocol, hostname, username, password, pathname }: URL, url: string): BrokerManagement {
  const isSecure = protocol === 'amqps:';
  return new BrokerManagement({
    url: url || (isSecure ? `https://${hostname}:15671` : `http://${hostname}:15672`),
    user: decodeURIComponent(username) || 'guest',
    password: decodeURIComponent(password) || 'guest',
    vhost: decodeURIComponent(pathname.slice(1)) || '/',
  });
}
