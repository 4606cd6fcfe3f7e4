import { type CommandNode, type OptionNode, quoted, withDescendants } from './command-tree.ts'

/** Returns a completion script for bash from 3.2 on. It needs no package bash-completion. */
export function bashCompletion(root: CommandNode): string {
  const nodes = withDescendants(root)
  const paths = nodes.filter(({ path }) => path.length > 0).map(keyOf)
  return `# Completes the commands and options of kubeherald: source <(kubeherald completion bash)
_kubeherald() {
  local line=\${COMP_LINE:0:COMP_POINT} path='' candidates='' options='' file='' typed i
  read -ra typed <<< "$line"
  if [[ $line == *' ' ]]; then typed+=(''); fi
  local last=$((\${#typed[@]} - 1))
  local cur=\${typed[last]} prev=\${typed[last-1]}
  if [[ $cur == --*=* ]]; then
    prev=\${cur%%=*}
    cur=\${cur#*=}
  fi
  for ((i = 1; i < last; i++)); do
    case "$path \${typed[i]}" in
      ${paths.map(quoted).join(' | ')}) path+=" \${typed[i]}" ;;
    esac
  done
  COMPREPLY=()
  case "$path $prev" in
${nodes.flatMap(valueCases).join('')}  esac
  case "$path" in
${nodes.map(commandCase).join('')}  esac
  if [[ $cur == -* ]]; then candidates=$options; fi
  if [[ -z $candidates && -z $file ]]; then compopt +o default 2> /dev/null; fi
  COMPREPLY=($(compgen -W "$candidates" -- "$cur"))
}
complete -o default -F _kubeherald kubeherald
`
}

/** ` dead-letters list` */
function keyOf({ path }: CommandNode): string {
  return path.map((name) => ` ${name}`).join('')
}

/** The cases of one command's options with values, by the kind of the value. */
function valueCases(node: CommandNode): string[] {
  const groups = Map.groupBy(
    node.options.filter(({ value }) => value !== undefined),
    ({ value }) => actionOf(value),
  )
  return [...groups].map(([action, options]) => {
    const names = options.flatMap(({ short, long }) => (short ? [short, long] : [long]))
    const patterns = names.map((name) => quoted(`${keyOf(node)} ${name}`)).join(' | ')
    return `    ${patterns}) ${action}return ;;\n`
  })
}

function actionOf(value: OptionNode['value']): string {
  // The default is to complete files.
  if (value === 'file') return ''
  if (value === 'folder') return 'COMPREPLY=($(compgen -d -- "$cur")); '
  if (value === 'text' || value === undefined) return 'compopt +o default 2> /dev/null; '
  return `COMPREPLY=($(compgen -W ${quoted(value.join(' '))} -- "$cur")); `
}

function commandCase(node: CommandNode): string {
  const { argument, commands, options } = node
  const candidates = Array.isArray(argument) ? argument : commands.map(({ name }) => name)
  const names = options.flatMap(({ short, long }) => (short ? [short, long] : [long]))
  const file = argument === 'file' ? ' file=1' : ''
  return `    ${quoted(keyOf(node))}) candidates=${quoted(candidates.join(' '))} options=${quoted(names.join(' '))}${file} ;;\n`
}
