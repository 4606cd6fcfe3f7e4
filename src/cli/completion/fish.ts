import { type CommandNode, type OptionNode, withDescendants } from './command-tree.ts'

/** Returns a completion script for fish. */
export function fishCompletion(root: CommandNode): string {
  const lines = withDescendants(root).flatMap((node) => [
    ...node.commands.map(
      (it) => `complete -c kubeherald -n ${at(node)} -a ${it.name} -d ${quoted(it.description)}`,
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
  return quoted([...seen, ...notBelow].join('; and '))
}

function argumentLines(node: CommandNode, argument: NonNullable<CommandNode['argument']>): string[] {
  if (argument === 'file') return [`complete -c kubeherald -n ${at(node)} -F`]
  return typeof argument === 'string'
    ? []
    : [`complete -c kubeherald -n ${at(node)} -a ${quoted(argument.join(' '))}`]
}

function optionLine(node: CommandNode, { short, long, description, value }: OptionNode): string {
  const names = `${short ? `-s ${short.slice(1)} ` : ''}-l ${long.slice(2)}`
  return `complete -c kubeherald -n ${at(node)} ${names}${valuePart(value)} -d ${quoted(description)}`
}

function valuePart(value: OptionNode['value']): string {
  if (value === undefined) return ''
  if (value === 'file') return ' -r -F'
  if (value === 'folder') return ` -x -a '(__fish_complete_directories)'`
  return value === 'text' ? ' -x' : ` -x -a ${quoted(value.join(' '))}`
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}
