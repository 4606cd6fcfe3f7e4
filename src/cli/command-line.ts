import { Command, CommanderError } from 'commander'
import { suggest } from '../config/error-messages/suggest.ts'
import { describeFault } from '../store/redis/redis-fault.ts'
import { version } from '../version.ts'
import { describeCommands } from './commands/describe.ts'
import { addGlobalOptions, type Exit } from './commands/options.ts'
import { setQuiet } from './output/notes.ts'
import { NothingToRun, UsageError } from './usage-error.ts'

/** Exit codes: 0 after a clean end, 2 for bad configuration or arguments, 1 otherwise. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  let exitCode = 0
  const program = describeProgram((code) => {
    exitCode = code
  })
  try {
    refuseUnknownHelp(program, args)
    await program.parseAsync(withCommand(helpOfGroup(args)), { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) {
      process.stderr.write(orderHint(program, args, error))
      return error.exitCode === 0 ? 0 : 2
    }
    process.stderr.write(`kubeherald: ${messageOf(error)}\n`)
    if (error instanceof NothingToRun && isWithoutCommand(args))
      process.stderr.write(`\n${program.helpInformation()}`)
    return error instanceof UsageError ? 2 : 1
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.name === 'ReplyError' ? describeFault(error) : error.message
}

/** `kubeherald --config prod.yaml status` is read as `run` with one argument too many. */
function orderHint(program: Command, args: readonly string[], { code }: CommanderError): string {
  if (code !== 'commander.excessArguments' || !isWithoutCommand(args)) return ''
  const late = args.find((it) => program.commands.some((command) => command.name() === it))
  return late === undefined ? '' : `(the command comes first: kubeherald ${late} …)\n`
}

const OF_THE_PROGRAM = ['-h', '--help', '-v', '-V', '--version']
const GLOBAL = ['--no-color', '-q', '--quiet']

/** `run` need not be written. Not commander's default command: that takes a mistyped one for an argument of `run`. */
function withCommand(args: readonly string[]): string[] {
  if (isWithoutCommand(args)) return ['run', ...args]
  return args.map((it, i) => (i === indexOfFirst(args) && it === '-V' ? '--version' : it))
}

function isWithoutCommand(args: readonly string[]): boolean {
  const first = args[indexOfFirst(args)]
  return first === undefined || (first.startsWith('-') && !OF_THE_PROGRAM.includes(first))
}

/** The first argument that is no option of all commands; -1 without one. */
function indexOfFirst(args: readonly string[]): number {
  return args.findIndex((it) => !GLOBAL.includes(it))
}

function refuseUnknownHelp(program: Command, [first, ...names]: readonly string[]): void {
  if (first !== 'help') return
  let at = program
  for (const [i, name] of names.entries()) {
    const known = [...at.commands.map((command) => command.name()), ...(i === 0 ? ['help'] : [])]
    if (known.length === 0) return
    if (!known.includes(name)) {
      const hint = suggest(name, known, 'there are') ?? '--help explains'
      throw new UsageError(`unknown command '${names.slice(0, i + 1).join(' ')}'; ${hint}`)
    }
    at = at.commands.find((command) => command.name() === name) ?? at
  }
}

/** Commander's `help` takes one name: `help silence add` is `silence add --help`. */
function helpOfGroup(args: readonly string[]): readonly string[] {
  const [first, ...names] = args
  return first === 'help' && names.length > 1 ? [...names, '--help'] : args
}

function describeProgram(exit: Exit): Command {
  const program = new Command('kubeherald')
    .usage('[run] [options]\n       kubeherald <command> [options]')
    .description('Forwards Kubernetes changes and Events to Slack, Kafka and webhooks, without losing any.')
    .version(version, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .showHelpAfterError('(--help explains)')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'kubeherald: ')) })
    .hook('preAction', () => {
      const { color, quiet = false } = program.opts()
      if (color === false) process.env['NO_COLOR'] = '1'
      setQuiet(quiet)
    })

  describeCommands(addGlobalOptions(program), exit)
  const help = new Command('help').argument('[command]').description('explain a command').helpOption(false)
  program.addHelpCommand(help.helpGroup('Program:'))
  return program
}
