import { stringOption } from '#libs/runtime/config';

/** Settings that select a context; each is also a flag of every command. */
export const contextOptions = {
  config: stringOption({
    env: 'BERTH_CONFIG',
    default: '',
    range: 'a file; berth/berth.yaml in XDG_CONFIG_HOME or ~/.config when empty',
    help: "The file with contexts ('berth context --help' shows one), below environment and flags.",
  }),
  context: stringOption({
    env: 'BERTH_CONTEXT',
    default: '',
    range: "a context's name; the file's current-context when empty",
    help: 'The context whose settings are used.',
  }),
} as const;
