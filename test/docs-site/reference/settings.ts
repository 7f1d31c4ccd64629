import type { Option } from '#libs/runtime/config';
import { flagOf, showValue } from '../../../services/cli/settings';
import { settingsTables } from '../../../services/cli/settings-tables';
import { code, ofNoMachine, plain, table } from './markdown';

/** Every setting, by who reads it: what `berth config` shows, without what is set here. */
export function settingsPage(): string {
  const shown = new Set<string>();
  const parts = settingsTables.map(({ of, options }) => {
    const own = Object.values<Option<unknown>>(options).filter(({ env }) => !shown.has(env));
    for (const { env } of own) shown.add(env);
    const rows = own.map((option) => [
      code(option.env),
      code(ofNoMachine(showValue(option.default))),
      plain(option.range),
      option.unit,
      plain(option.help),
    ]);
    return `## Settings of ${of}\n\n${table(['name', 'default', 'range', 'unit', 'what it does'], rows)}`;
  });
  return `# Settings

Each is a variable of the environment, or a flag: ${code('BERTH_BUS_URL')} is ${code(flagOf('BERTH_BUS_URL'))}. An unknown
name is an error, and so is a value out of its range. ${code('berth config')} shows them with their present values.

${parts.join('\n\n')}
`;
}
