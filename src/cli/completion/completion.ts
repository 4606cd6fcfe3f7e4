import type { Command } from 'commander'
import { type CommandNode, commandTree, type OptionNode, quoted, withDescendants } from './command-tree.ts'

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } satisfies Record<
  string,
  (root: CommandNode) => string
>

/** Prints the script that completes the program's commands and options. */
export function printCompletion(program: Command, shell: keyof typeof SCRIPTS): number {
  process.stdout.write(SCRIPTS[shell](commandTree(program)))
  return 0
}

/** Returns a completion script for bash from 3.2 on. It needs no package bash-completion. */
function bashCompletion(root: CommandNode): string {
  const nodes = withDescendants(root)
  const paths = nodes.filter(({ path }) => path.length > 0).map(bashKey)
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
function bashKey({ path }: CommandNode): string {
  return path.map((name) => ` ${name}`).join('')
}

/** The cases of one command's options with values, by the kind of the value. */
function valueCases(node: CommandNode): string[] {
  const groups = Map.groupBy(
    node.options.filter(({ value }) => value !== undefined),
    ({ value }) => bashAction(value),
  )
  return [...groups].map(([action, options]) => {
    const names = options.flatMap(({ short, long }) => (short ? [short, long] : [long]))
    const patterns = names.map((name) => quoted(`${bashKey(node)} ${name}`)).join(' | ')
    return `    ${patterns}) ${action}return ;;\n`
  })
}

function bashAction(value: OptionNode['value']): string {
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
  return `    ${quoted(bashKey(node))}) candidates=${quoted(candidates.join(' '))} options=${quoted(names.join(' '))}${file} ;;\n`
}

/** Returns a completion script for zsh, to be sourced or saved as `_kubeherald` in a folder of `fpath`. */
function zshCompletion(root: CommandNode): string {
  return `#compdef kubeherald
# Completes the commands and options of kubeherald: source <(kubeherald completion zsh)
${withDescendants(root).map(functionOf).join('')}if [ "$funcstack[1]" = _kubeherald ]; then
  _kubeherald "$@"
else
  compdef _kubeherald kubeherald
fi
`
}

function zshName({ path }: CommandNode): string {
  return ['_kubeherald', ...path].join('_').replaceAll('-', '_')
}

function functionOf(node: CommandNode): string {
  return node.commands.length > 0 ? groupFunction(node) : leafFunction(node)
}

function groupFunction(node: CommandNode): string {
  const commands = node.commands.map((it) => `      ${quoted(`${it.name}:${escaped(it.description)}`)}\n`)
  const calls = node.commands.map((it) => `      ${it.name}) ${zshName(it)} ;;\n`)
  return `${zshName(node)}() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -C -s \\
${node.options.map(argumentLine).join('')}    '1: :->command' '*:: :->rest'
  case $state in
    command)
      local -a commands
      commands=(
${commands.join('')}      )
      _describe command commands
      ;;
    rest)
      case $line[1] in
${calls.join('')}      esac
      ;;
  esac
}
`
}

function leafFunction(node: CommandNode): string {
  const { argument } = node
  const rest = argument === undefined ? '' : `    '*: :${zshAction(argument)}'\n`
  const lines = `${node.options.map(argumentLine).join('')}${rest}`
  return `${zshName(node)}() {
  _arguments -s \\
${lines.replace(/ \\\n$/, '\n')}}
`
}

function argumentLine({ short, long, description, value }: OptionNode): string {
  const text = `[${escaped(description)}]`
  const tail = value === undefined ? '' : `:value:${zshAction(value)}`
  const names = short ? `${quoted(`(${short} ${long})`)}{${short},${long}}` : long
  return `    ${names}${quoted(text + tail)} \\\n`
}

function zshAction(value: NonNullable<OptionNode['value']>): string {
  if (value === 'file') return '_files'
  if (value === 'folder') return '_files -/'
  return value === 'text' ? ' ' : `(${value.join(' ')})`
}

/** Escapes what ends a description. */
function escaped(text: string): string {
  return text.replace(/[\\[\]:]/g, '\\$&')
}

/** Returns a completion script for fish. */
function fishCompletion(root: CommandNode): string {
  const lines = withDescendants(root).flatMap((node) => [
    ...node.commands.map(
      (it) => `complete -c kubeherald -n ${at(node)} -a ${it.name} -d ${fishQuoted(it.description)}`,
    ),
    ...(node.argument === undefined ? [] : argumentLines(node, node.argument)),
    ...node.options.map((it) => optionLine(node, it)),
  ])
  return `# Completes the commands and options of kubeherald: kubeherald completion fish | source
complete -c kubeherald -f
${lines.join('\n')}
`
}

/** The condition that the arguments before the cursor name exactly this command. */
function at({ path, commands }: CommandNode): string {
  const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`)
  const below = commands.map(({ name }) => name)
  const notBelow = below.length === 0 ? [] : [`not __fish_seen_subcommand_from ${below.join(' ')}`]
  return fishQuoted([...seen, ...notBelow].join('; and '))
}

function argumentLines(node: CommandNode, argument: NonNullable<CommandNode['argument']>): string[] {
  if (argument === 'file') return [`complete -c kubeherald -n ${at(node)} -F`]
  return typeof argument === 'string'
    ? []
    : [`complete -c kubeherald -n ${at(node)} -a ${fishQuoted(argument.join(' '))}`]
}

function optionLine(node: CommandNode, { short, long, description, value }: OptionNode): string {
  const names = `${short ? `-s ${short.slice(1)} ` : ''}-l ${long.slice(2)}`
  return `complete -c kubeherald -n ${at(node)} ${names}${valuePart(value)} -d ${fishQuoted(description)}`
}

function valuePart(value: OptionNode['value']): string {
  if (value === undefined) return ''
  if (value === 'file') return ' -r -F'
  if (value === 'folder') return ` -x -a '(__fish_complete_directories)'`
  return value === 'text' ? ' -x' : ` -x -a ${fishQuoted(value.join(' '))}`
}

function fishQuoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}
