import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Context } from '../../context';
import { importCommand } from './import';

/** `berth placement import` */
export function placementCommand(context: Context): CommandUnknownOpts {
  return new Command('placement').addCommand(importCommand(context));
}
