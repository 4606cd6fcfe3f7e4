import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { version } from '../version.ts'
import { UsageError } from './usage-error.ts'

/** Exit codes: 0 after a clean end, 2 for bad configuration or arguments, 1 otherwise. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  let exitCode = 0
  const program = describeProgram((code) => {
    exitCode = code
  })
  try {
    await program.parseAsync(args.length === 0 ? ['run'] : [...args], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    process.stderr.write(`kubeherald: ${error instanceof Error ? error.message : String(error)}\n`)
    return error instanceof UsageError ? 2 : 1
  }
}

function describeProgram(exit: (code: number) => void): Command {
  const program = new Command('kubeherald')
    .description(
      'Forwards what happens in a Kubernetes cluster to people and services, and loses none of it.',
    )
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'explain a command')
    .exitOverride()
    .showHelpAfterError('(--help explains)')

  common(program.command('run', { isDefault: true }))
    .description('watch the cluster, apply the rules, deliver')
    .option('--context <name>', 'context of the kubeconfig')
    .addOption(
      new Option('--role <role>', 'only read the cluster, only deliver, or both')
        .choices(['all', 'watch', 'deliver'])
        .default('all'),
    )
    .option('--log-level <level>', 'trace, debug, info, warn, error or fatal')
    .addHelpText('after', RUN_HELP)
    .action(async (options) => exit(await (await import('./run.ts')).run(options)))

  program
    .command('demo')
    .description('watch a small cluster that lives inside this process, to see what it looks like')
    .option('-c, --config <file>', 'rules to try; default: starter rules that print everything')
    .option('--log-level <level>', 'trace, debug, info, warn, error or fatal')
    .action(async (options) =>
      exit(await (await import('./run.ts')).run({ ...options, role: 'all', demo: true })),
    )

  common(program.command('check'))
    .description('say everything that is wrong with the configuration, and what it would watch')
    .option('--context <name>', 'context of the kubeconfig')
    .option('--offline', "don't ask the cluster")
    .action(async (options) => exit(await (await import('./check.ts')).check(options)))

  common(program.command('status'))
    .description('show watches, sinks and the ledger')
    .option('--json', 'as JSON')
    .option('--verify', 'count what really lies in the lanes instead of trusting the counters')
    .action(async (options) => exit(await (await import('./status.ts')).status(options)))

  describeDeadLetters(program, exit)
  return program
}

function describeDeadLetters(program: Command, exit: (code: number) => void): void {
  const group = program
    .command('dead-letters')
    .description('look at, send again or drop what a sink refused')
    .addHelpText('after', DEAD_LETTERS_HELP)
  const load = () => import('./dead-letters.ts')
  common(group.command('list'))
    .description('newest first')
    .option('--sink <name>', 'only those of one sink')
    .option('--limit <n>', 'how many', wholeNumber, 50)
    .option('--json', 'as JSON, one a line')
    .action(async (options) => exit(await (await load()).list(options)))
  common(group.command('show <id>'))
    .description('the reason, the event and the object')
    .option('--json', 'as JSON')
    .action(async (id, options) => exit(await (await load()).show(id, options)))
  common(group.command('retry [ids...]'))
    .description('put them back into their lanes')
    .option('--all', 'all of them')
    .option('--sink <name>', 'with --all: only those of one sink')
    .action(async (ids, options) => exit(await (await load()).retry(ids, options)))
  common(group.command('drop <ids...>'))
    .description('delete them for good; the ledger remembers how many')
    .action(async (ids, options) => exit(await (await load()).drop(ids, options)))
}

function common(command: Command): Command {
  return command
    .option(
      '-c, --config <file>',
      'default: $KUBEHERALD_CONFIG, else ./kubeherald.yaml; "-" is standard input',
    )
    .option(
      '--state-dir <dir>',
      'where the private Redis keeps its data; default: $XDG_STATE_HOME/kubeherald',
    )
}

function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('Give a whole number from 1.')
  return value
}

const RUN_HELP = `
Without a config file it prints a selection of events; without redis.url it starts a private redis-server;
without a kubeconfig (and outside a pod) it starts the demo cluster.

Examples:
  kubeherald                                    look around in the current cluster
  kubeherald run --config prod.yaml             do the job
  kubeherald run --role deliver                 one more process that only delivers (needs redis.url)
`

const DEAD_LETTERS_HELP = `
Examples:
  kubeherald dead-letters list --sink oncall
  kubeherald dead-letters show 1763712000000-0
  kubeherald dead-letters retry --all --sink oncall
`
