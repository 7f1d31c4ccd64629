import type { SelectSettings } from './decision/select-destinations';
import { FILTERS } from './filters/registry';
import type { NovaConfig } from './options';
import { DATABASE_WEIGHERS, WEIGHERS, type WeigherName } from './weighers/registry';

/** The part of the configuration that decisions use. */
export function selectSettings(config: NovaConfig): SelectSettings {
  const multipliers = multipliersOf(config);
  const lacking = config.databaseUrl === '' ? DATABASE_WEIGHERS : [];
  const names = (Object.keys(WEIGHERS) as WeigherName[]).filter((name) => !lacking.includes(name));
  return {
    ...config,
    metricRatios: ratiosOf(config.metricsWeightSetting),
    imagePropertyRatios: ratiosOf(config.imagePropsWeightSetting),
    filters: FILTERS.filter(({ name }) => config.filters.includes(name)),
    weighings: names
      .map((name) => ({ weigher: WEIGHERS[name], multiplier: multipliers[name] }))
      .filter(({ weigher, multiplier }) => multiplier !== 0 || weigher !== WEIGHERS.imageProperties),
  };
}

/** Weighers that the settings ask for, and that weigh nothing because Nova's database is not read. */
export function idleWeighers(config: NovaConfig): readonly WeigherName[] {
  if (config.databaseUrl !== '') return [];
  const multipliers = multipliersOf(config);
  const isAsked = (name: WeigherName) => name !== 'metrics' || config.metricsWeightSetting.length > 0;
  return DATABASE_WEIGHERS.filter((name) => multipliers[name] !== 0 && isAsked(name));
}

function multipliersOf(config: NovaConfig): Readonly<Record<WeigherName, number>> {
  return {
    cpu: config.weightCpu,
    ram: config.weightRam,
    disk: config.weightDisk,
    ioOps: config.weightIoOps,
    numInstances: config.weightNumInstances,
    hypervisorVersion: config.weightHypervisorVersion,
    buildFailure: config.weightBuildFailure,
    pci: config.weightPci,
    metrics: config.weightMetrics,
    imageProperties: config.weightImageProperties,
    softAffinity: config.weightSoftAffinity,
    softAntiAffinity: config.weightSoftAntiAffinity,
    crossCell: config.weightCrossCell,
  };
}

/** `NAME=FACTOR` by name. */
function ratiosOf(said: readonly string[]): ReadonlyMap<string, number> {
  return new Map(said.map((one) => [one.slice(0, one.indexOf('=')), Number(one.slice(one.indexOf('=') + 1))]));
}
