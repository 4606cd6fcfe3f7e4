import type { Argument, Command, Option } from 'commander'

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

/** A command with all that a shell can complete after it. */
interface CommandNode {
  name: string
  /** From the program, without its own name: `['dead-letters', 'list']`; empty for the program. */
  path: readonly string[]
  description: string
  options: readonly OptionNode[]
  commands: readonly CommandNode[]
  argument: ValueKind | undefined
}

interface OptionNode {
  /** `-c`; undefined without one. */
  short: string | undefined
  /** `--config` */
  long: string
  description: string
  /** Undefined for a flag. */
  value: ValueKind | undefined
}

/** What a value is: one of a list, a file, a folder, or a text that no shell can know. */
type ValueKind = readonly string[] | 'file' | 'folder' | 'text'

/** Returns the commands of a program as they are described for commander; options of `run` need no command. */
export function commandTree(program: Command): CommandNode {
  const ofAll = program.options.filter(({ long }) => long !== '--version')
  const commands = visible(program).map((it) => nodeOf(it, [it.name()], ofAll))
  const run = commands.find(({ name }) => name === 'run')
  const help: CommandNode = {
    name: 'help',
    path: ['help'],
    description: 'explain a command',
    options: [],
    commands: [],
    argument: commands.map(({ name }) => name),
  }
  const version = program.options.filter((it) => !ofAll.includes(it)).map(optionNode)
  return {
    name: program.name(),
    path: [],
    description: program.description(),
    options: [...(run?.options ?? []), ...version],
    commands: [...commands, help],
    argument: undefined,
  }
}

function nodeOf(command: Command, path: readonly string[], ofAll: readonly Option[]): CommandNode {
  const values = command.registeredArguments.map(valueOfArgument)
  return {
    name: command.name(),
    path,
    description: command.description(),
    options: [...command.options, ...ofAll]
      .filter(({ hidden }) => !hidden)
      .map(optionNode)
      .concat(HELP),
    commands: visible(command).map((it) => nodeOf(it, [...path, it.name()], ofAll)),
    argument: values.find((it) => it !== 'text') ?? values[0],
  }
}

const HELP: OptionNode = { short: '-h', long: '--help', description: 'print this help', value: undefined }

function visible({ commands }: Command): Command[] {
  return commands.filter((it) => it.name() !== 'help')
}

function optionNode({ short, long, description, required, argChoices, flags }: Option): OptionNode {
  const name = /<([\w-]{1,40})>/.exec(flags)?.[1] ?? ''
  const value = required ? (argChoices ?? KINDS[name] ?? 'text') : undefined
  return { short, long: long as string, description, value }
}

function valueOfArgument(argument: Argument): ValueKind {
  return argument.argChoices ?? KINDS[argument.name()] ?? 'text'
}

/** By the names of values in usage texts; `explain <what>` takes a file, too. */
const KINDS: Readonly<Record<string, ValueKind>> = {
  file: 'file',
  files: 'file',
  what: 'file',
  dir: 'folder',
}

/** Returns a command and all commands below it. */
export function withDescendants(node: CommandNode): CommandNode[] {
  return [node, ...node.commands.flatMap(withDescendants)]
}

/** Quotes a text for bash and zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
