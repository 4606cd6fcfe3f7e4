import type { Argument, Command, Option } from 'commander'

/** A command with all that a shell can complete after it. */
export interface CommandNode {
  name: string
  /** From the program, without its own name: `['dead-letters', 'list']`; empty for the program. */
  path: readonly string[]
  description: string
  options: readonly OptionNode[]
  commands: readonly CommandNode[]
  argument: ValueKind | undefined
}

export interface OptionNode {
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
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
