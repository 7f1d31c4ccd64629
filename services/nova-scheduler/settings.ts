import type { SelectSettings } from './decision/select-destinations';
import { FILTERS } from './filters/registry';
import type { NovaConfig } from './options';
import { DATABASE_WEIGHERS, WEIGHERS, type WeigherName } from './weighers/registry';

/** The part of the configuration that decisions use. */
export function selectSettings(config: NovaConfig): SelectSettings {
  const multipliers: Readonly<Record<WeigherName, number>> = {
    cpu: config.weightCpu,
    ram: config.weightRam,
    disk: config.weightDisk,
    ioOps: config.weightIoOps,
    numInstances: config.weightNumInstances,
    hypervisorVersion: config.weightHypervisorVersion,
    buildFailure: config.weightBuildFailure,
    pci: config.weightPci,
    softAffinity: config.weightSoftAffinity,
    softAntiAffinity: config.weightSoftAntiAffinity,
    crossCell: config.weightCrossCell,
  };
  const lacking = config.databaseUrl === '' ? DATABASE_WEIGHERS : [];
  const names = (Object.keys(WEIGHERS) as WeigherName[]).filter((name) => !lacking.includes(name));
  return {
    ...config,
    filters: FILTERS.filter(({ name }) => config.filters.includes(name)),
    weighings: names
      .map((name) => ({ weigher: WEIGHERS[name], multiplier: multipliers[name] }))
      .filter(({ multiplier }) => multiplier !== 0),
  };
}
