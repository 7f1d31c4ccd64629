import { BerthError, invalidArgument } from '#libs/domain/errors';
import { readConfig } from '#libs/runtime/config';
import { novaOptions } from '../nova-scheduler/options';
import type { DecideParts } from '../scheduler/decision/decide';
import { type SchedulerConfig, schedulerOptions } from '../scheduler/options';
import { WHAT_IF_FORMS } from './options';
import type { Scene } from './scene';

/** Something that is taken to have been otherwise when a decision was made. */
export type WhatIf =
  | { readonly kind: 'setting'; readonly name: string; readonly value: string }
  | { readonly kind: 'without-filter'; readonly filter: string }
  | { readonly kind: 'host'; readonly host: string; readonly up: boolean };

/**
 * Reads one of {@link WHAT_IF_FORMS}.
 *
 * @throws BerthError `invalid_argument / bad_what_if`, `/ bad_config`
 */
export function parseWhatIf(text: string): WhatIf {
  const [, key = '', value = ''] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (key === 'without-filter') return { kind: 'without-filter', filter: value };
  if (key === 'host-up' || key === 'host-down') return { kind: 'host', host: value, up: key === 'host-up' };
  const [, weigher, weight] = /^([a-z_-]+):(.+)$/.exec(value) ?? [];
  const isWeight = key === 'weight' && weigher !== undefined && weight !== undefined;
  const names = isWeight ? weightNames(weigher) : [key];
  for (const options of [schedulerOptions, novaOptions]) {
    const name = names.find((one) => Object.values(options).some(({ env }) => env === one));
    if (name === undefined) continue;
    const setting = { kind: 'setting', name, value: isWeight ? weight : value } as const;
    readConfig(options, { [name]: setting.value });
    return setting;
  }
  throw invalidArgument('bad_what_if', `'${text}' must be ${WHAT_IF_FORMS}`);
}

function weightNames(weigher: string): readonly string[] {
  const word = weigher.replaceAll('-', '_').toUpperCase();
  return [`BERTH_SCHEDULER_WEIGHT_${word}`, `BERTH_NOVA_WEIGHT_${word}`];
}

/**
 * The parts of a decision in a scene in which some things are otherwise. Hosts stay so in the scene.
 *
 * @throws BerthError `not_found / no_such_host`, `/ no_such_filter`
 */
export function partsWith(scene: Scene, changes: readonly WhatIf[]): DecideParts {
  for (const change of changes) if (change.kind === 'host') setHost(scene, change);
  return scene.with(changes.reduce(changed, scene.config));
}

function changed(config: SchedulerConfig, change: WhatIf): SchedulerConfig {
  if (change.kind === 'setting') {
    const keys = Object.keys(schedulerOptions) as (keyof SchedulerConfig)[];
    const key = keys.find((one) => schedulerOptions[one].env === change.name);
    if (key === undefined) throw invalidArgument('bad_what_if', `${change.name} is no setting of a scheduler`);
    return { ...config, [key]: readConfig(schedulerOptions, { [change.name]: change.value })[key] };
  }
  if (change.kind === 'host') return config;
  const { filter } = change;
  const filters = config.filters.filter((name) => name !== filter);
  const declaredFilters = config.declaredFilters.filter((rule) => rule.split(':')[0]?.trim() !== filter);
  if (filters.length + declaredFilters.length === config.filters.length + config.declaredFilters.length)
    throw new BerthError('not_found', 'no_such_filter', `the scheduler had no filter '${filter}'`);
  return { ...config, filters, declaredFilters };
}

/** Shows a host as up, enabled and trusted, or as down. */
function setHost({ mirror }: Scene, { host: name, up }: Extract<WhatIf, { kind: 'host' }>): void {
  const host = mirror.host(name);
  if (!host) throw new BerthError('not_found', 'no_such_host', `there was no host '${name}'`);
  const trusted = up ? { enabled: true, failures: 0, failuresInARow: 0 } : {};
  const revision = Math.max(host.revision, mirror.revision) + 1;
  mirror.applyRows({ hosts: [{ ...host, ...trusted, up, revision }] });
}
