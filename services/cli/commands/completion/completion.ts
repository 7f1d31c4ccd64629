import { Argument, Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { clientSettings } from '../../client/client-options';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { addSettingFlags } from '../../settings';
import { placeOf } from './complete';
import type { Candidate, Named } from './names';
import { SCRIPTS, SHELLS } from './scripts';

/** Time limit of a completion; the shell waits for it at each Tab. */
const TIMEOUT_MS = '1500';

/** `berth completion bash` */
export function completionCommand({ terminal }: Context): CommandUnknownOpts {
  const command = new Command('completion')
    .addArgument(new Argument('<shell>', 'the shell that is to complete').choices(SHELLS))
    .action((shell) => terminal.print(SCRIPTS[shell]));
  return addHelp(command, [
    ['source <(berth completion bash)', 'in ~/.bashrc; zsh likewise, after compinit'],
    ['berth completion fish > ~/.config/fish/completions/berth.fish', 'for fish, once'],
  ]);
}

/** The command that the scripts call. It prints no errors: a shell would print them into the line being typed. */
export function completeCommand(context: Context): CommandUnknownOpts {
  const { terminal } = context;
  return new Command('__complete').argument('[word...]').action(async (words) => {
    const place = await placeOf(context, words);
    const last = (words.at(-1) ?? '').toLowerCase();
    if (place.kind === 'unknown') return;
    const all = place.kind === 'words' ? place.words : await namesOf(context, place.named).catch(() => []);
    for (const [value, description] of all.filter((one) => fits(one, last, place.kind === 'named')))
      terminal.print(description === '' ? value : `${value}\t${description.replaceAll(/\s+/g, ' ')}`);
  });
}

/** The name of an instance also finds its uuid. */
function fits([value, description]: Candidate, begun: string, byDescription: boolean): boolean {
  return value.toLowerCase().startsWith(begun) || (byDescription && description.toLowerCase().startsWith(begun));
}

async function namesOf(context: Context, named: Named): Promise<Candidate[]> {
  const [{ withClient }, { NAMES }] = await Promise.all([
    import('#services/cli/client/with-client'),
    import('#services/cli/commands/completion/names'),
  ]);
  const command = addSettingFlags(new Command('names'), clientSettings);
  const env = { ...context.env, BERTH_CLIENT_TIMEOUT_MS: TIMEOUT_MS };
  let found: Candidate[] = [];
  await withClient({ ...context, env }, command, async (client) => {
    found = await NAMES[named](client);
  });
  return found;
}
