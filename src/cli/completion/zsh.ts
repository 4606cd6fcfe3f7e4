import { type CommandNode, type OptionNode, quoted, withDescendants } from './command-tree.ts'

/** Returns a completion script for zsh, to be sourced or saved as `_kubeherald` in a folder of `fpath`. */
export function zshCompletion(root: CommandNode): string {
  return `#compdef kubeherald
# Completes the commands and options of kubeherald: source <(kubeherald completion zsh)
${withDescendants(root).map(functionOf).join('')}if [ "$funcstack[1]" = _kubeherald ]; then
  _kubeherald "$@"
else
  compdef _kubeherald kubeherald
fi
`
}

function nameOf({ path }: CommandNode): string {
  return ['_kubeherald', ...path].join('_').replaceAll('-', '_')
}

function functionOf(node: CommandNode): string {
  return node.commands.length > 0 ? groupFunction(node) : leafFunction(node)
}

function groupFunction(node: CommandNode): string {
  const commands = node.commands.map((it) => `      ${quoted(`${it.name}:${escaped(it.description)}`)}\n`)
  const calls = node.commands.map((it) => `      ${it.name}) ${nameOf(it)} ;;\n`)
  return `${nameOf(node)}() {
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
  const rest = argument === undefined ? '' : `    '*: :${actionOf(argument)}'\n`
  const lines = `${node.options.map(argumentLine).join('')}${rest}`
  return `${nameOf(node)}() {
  _arguments -s \\
${lines.replace(/ \\\n$/, '\n')}}
`
}

function argumentLine({ short, long, description, value }: OptionNode): string {
  const text = `[${escaped(description)}]`
  const tail = value === undefined ? '' : `:value:${actionOf(value)}`
  const names = short ? `${quoted(`(${short} ${long})`)}{${short},${long}}` : long
  return `    ${names}${quoted(text + tail)} \\\n`
}

function actionOf(value: NonNullable<OptionNode['value']>): string {
  if (value === 'file') return '_files'
  if (value === 'folder') return '_files -/'
  return value === 'text' ? ' ' : `(${value.join(' ')})`
}

/** Escapes what ends a description. */
function escaped(text: string): string {
  return text.replace(/[\\[\]:]/g, '\\$&')
}
