import { Command } from 'commander';
import type { Context } from '../context';
import { providerListCommand } from './provider-list';
import { providerShowCommand } from './provider-show';
import { providerTreeCommand } from './provider-tree';

/** `berth provider list | show | tree` */
export function providerCommand(context: Context): Command {
  return new Command('provider')
    .description('See resource providers: their trees, what they have, how full they are.')
    .addCommand(providerListCommand(context))
    .addCommand(providerShowCommand(context))
    .addCommand(providerTreeCommand(context));
}
