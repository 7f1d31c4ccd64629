/** The shells that complete for berth. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/**
 * The completion script of each shell: it calls `berth __complete -- WORD...` for the completions of the last word, one
 * per line, the description after a tab. The last word is the part before the cursor, possibly empty. Where berth has
 * no completions the shell offers files.
 */
export const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# bash completion for berth: source <(berth completion bash)
_berth() {
  local line value i width=0
  local -a values=() helps=()
  while IFS= read -r line; do
    value=\${line%%$'\\t'*}
    values+=("$value")
    line+=$'\\t'
    helps+=("\${line#*$'\\t'}")
    if (( \${#value} > width )); then width=\${#value}; fi
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=("\${values[@]}")
  # Descriptions appear when several candidates are listed, not when one is inserted (37 and 42 are menu completion).
  if (( \${#values[@]} < 2 )) || [[ $COMP_TYPE == 37 || $COMP_TYPE == 42 ]]; then return; fi
  for i in "\${!values[@]}"; do
    printf -v line '%-*s  %s' "$width" "\${values[i]}" "\${helps[i]%$'\\t'}"
    COMPREPLY[i]=\${line:0:\${COLUMNS:-80}-2}
  done
}
complete -o default -F _berth berth`,
  zsh: `#compdef berth
# zsh completion for berth: source <(berth completion zsh), after compinit
_berth() {
  local line
  local -a values shown
  while IFS= read -r line; do
    values+=("\${line%%$'\\t'*}")
    shown+=("\${line/$'\\t'/  -- }")
  done < <("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#values} )); then
    compadd -U -l -d shown -a values
  else
    _files
  fi
}
if (( \${+functions[compdef]} )); then compdef _berth berth; fi`,
  fish: `# fish completion for berth: berth completion fish | source
function __berth_complete
    set -l words (commandline -opc) (commandline -ct)
    command $words[1] __complete -- $words[2..-1] 2>/dev/null
end
complete -c berth -f -a '(__berth_complete)'
complete -c berth -n '__fish_seen_subcommand_from replay' -F`,
};
