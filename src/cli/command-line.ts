import { Command, CommanderError } from 'commander'
import { suggest } from '../config/suggest.ts'
import { sayFault } from '../queue/redis-fault.ts'
import { version } from '../version.ts'
import { describeCheck } from './check/describe.ts'
import { describeBeginnings, describeSchema } from './describe-files.ts'
import type { Exit } from './options.ts'
import { describeProof } from './proof/describe.ts'
import { describeLiveProof } from './proof/describe-live.ts'
import { describeQueue } from './queue/describe.ts'
import { describeRbac } from './rights/describe.ts'
import { describeRun } from './run/describe.ts'
import { UsageError } from './usage-error.ts'

/** Exit codes: 0 after a clean end, 2 for bad configuration or arguments, 1 otherwise. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  let exitCode = 0
  const program = describeProgram((code) => {
    exitCode = code
  })
  try {
    refuseUnknownHelp(program, args)
    await program.parseAsync(withCommand(args), { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    process.stderr.write(`kubeherald: ${wordsOf(error)}\n`)
    return error instanceof UsageError ? 2 : 1
  }
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.name === 'ReplyError' ? sayFault(error) : error.message
}

const OF_THE_PROGRAM = ['-h', '--help', '-v', '-V', '--version']

/** `run` need not be written. Not commander's default command: that takes a mistyped one for an argument of `run`. */
function withCommand(args: readonly string[]): string[] {
  const [first] = args
  if (first === '-V') return ['--version']
  const isRun = first === undefined || (first.startsWith('-') && !OF_THE_PROGRAM.includes(first))
  return isRun ? ['run', ...args] : [...args]
}

function refuseUnknownHelp(program: Command, [first, name]: readonly string[]): void {
  if (first !== 'help' || name === undefined) return
  const known = [...program.commands.map((command) => command.name()), 'help']
  if (known.includes(name)) return
  throw new UsageError(`unknown command '${name}'; ${suggest(name, known, 'there are') ?? '--help explains'}`)
}

function describeProgram(exit: Exit): Command {
  const program = new Command('kubeherald')
    .usage('[run] [options]\n       kubeherald <command> [options]')
    .description(
      'Forwards what happens in a Kubernetes cluster to people and services, and loses none of it.',
    )
    .version(version, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'explain a command')
    .exitOverride()
    .showHelpAfterError('(--help explains)')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'kubeherald: ')) })

  describeRun(program, exit)
  describeCheck(program, exit)
  describeProof(program, exit)
  describeSchema(program, exit)
  describeLiveProof(program, exit)
  describeRbac(program, exit)
  describeBeginnings(program, exit)
  describeQueue(program, exit)
  return program
}
