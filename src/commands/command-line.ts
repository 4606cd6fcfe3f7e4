import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { suggest } from '../config/suggest.ts'
import { sayFault } from '../queue/redis-fault.ts'
import { version } from '../version.ts'
import { describeProof } from './proof-commands.ts'
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

function describeProgram(exit: (code: number) => void): Command {
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

  withoutPlugins(common(program.command('run')))
    .description('watch the cluster, apply the rules, deliver (what happens without a command)')
    .option('--context <name>', 'context of the kubeconfig')
    .addOption(
      new Option('--role <role>', 'only read the cluster, only deliver, or both')
        .choices(['all', 'watch', 'deliver'])
        .default('all'),
    )
    .option('--log-level <level>', 'trace, debug, info, warn, error or fatal')
    .addHelpText('after', RUN_HELP)
    .action(async (options) => exit(await (await import('./run.ts')).run(options)))

  withoutPlugins(stateful(program.command('demo')))
    .description('watch a small cluster that lives inside this process, to see what it looks like')
    .option('-c, --config <file>', 'rules to try; default: a starter that prints a selection of events')
    .option('--shared-redis', 'use redis.url of that file; what is stored there is deleted at the end')
    .option('--log-level <level>', 'trace, debug, info, warn, error or fatal')
    .addHelpText('after', DEMO_HELP)
    .action(async (options) =>
      exit(await (await import('./run.ts')).run({ ...options, role: 'all', demo: true })),
    )

  withoutPlugins(configurable(program.command('check')))
    .description(
      'say everything that is wrong with the configuration, what it would watch, and which rights are missing',
    )
    .option('--context <name>', 'context of the kubeconfig')
    .option('--offline', 'ask neither cluster, Redis nor sinks, and do without secrets that are not here')
    .option('--strict', 'warnings are failures: exit code 1')
    .option('--json', 'as JSON: problems with their places, and what would be watched')
    .addHelpText('after', CHECK_HELP)
    .action(async (options) => exit(await (await import('./check.ts')).check(options)))

  describeProof(program, { withConfiguration: (command) => withoutPlugins(configurable(command)), exit })

  program
    .command('schema')
    .description('print the JSON Schema of the configuration, for editors')
    .option('--included', 'of files that a configuration includes')
    .addHelpText('after', SCHEMA_HELP)
    .action(async (options) => exit(await (await import('./schema.ts')).printSchema(options)))

  withoutPlugins(stateful(configurable(program.command('tail'))))
    .description('show what would go where, as it happens in the cluster; sends nothing')
    .option('--rules <file>', 'the rules to try; default: those of --config')
    .option('--all', 'also what no rule sends, and what limits hold back')
    .option('--rule <name>', 'what this rule sends')
    .option('--sink <name>', 'what this sink would get')
    .option('--kind <kind>', 'of this kind: Pod, deploy, databases.stable.example.com')
    .option('--namespace <pattern>', 'of this namespace: shop, pay-*, !kube-*')
    .option('--since <time>', 'first what was since then, of the journal: 30m, 24h')
    .option('--for <time>', 'end by itself after so long: 30s, 5m')
    .option('--json', 'a line of JSON for each')
    .option('--context <name>', 'context of the kubeconfig')
    .addHelpText('after', TAIL_HELP)
    .action(async (options) => exit(await (await import('./tail.ts')).tail(options)))

  withoutPlugins(ofQueue(program.command('backtest')))
    .description('say what other rules would have sent of what happened lately, and what they would not')
    .requiredOption('--rules <file>', 'the configuration to try')
    .option('--since <time>', 'of what happened since then: 30m, 24h; default: of all in the journal')
    .option('--examples <n>', 'of each sink and rule; default: 5', wholeNumber)
    .option('--fail-on-difference', 'exit code 1 when anything differs')
    .option('--json', 'as JSON')
    .addHelpText('after', BACKTEST_HELP)
    .action(async (options) => exit(await (await import('./backtest.ts')).backtest(options)))

  configurable(program.command('rbac'))
    .description('print the rights in Kubernetes that the configuration needs, and no others')
    .option(
      '--service-account <namespace/name>',
      'who gets them; default: kubeherald in $POD_NAMESPACE, else kubeherald/kubeherald',
    )
    .option('--name <name>', 'of the roles and bindings', 'kubeherald')
    .addOption(
      new Option('--format <format>', 'manifests for kubectl, or values for the Helm chart')
        .choices(['yaml', 'values'])
        .default('yaml'),
    )
    .option('--context <name>', 'context of the kubeconfig')
    .option('--offline', "don't ask the cluster what a kind is")
    .addHelpText('after', RBAC_HELP)
    .action(async (options) => exit(await (await import('./rbac.ts')).rbac(options)))

  program
    .command('init')
    .description('look at the cluster and write a configuration to begin with, and the rights that it needs')
    .option('-o, --output <file>', 'where to; "-" prints it', 'kubeherald.yaml')
    .addOption(
      new Option('--sink <type>', 'where it sends to')
        .choices(['stdout', 'slack', 'webhook', 'kafka'])
        .default('stdout'),
    )
    .option('--force', 'write over files that are there')
    .option('--context <name>', 'context of the kubeconfig')
    .option('--offline', "don't look at a cluster")
    .addHelpText('after', INIT_HELP)
    .action(async (options) => exit(await (await import('./init.ts')).init(options)))

  program
    .command('import <tool> [file]')
    .description('make a configuration of one of kubernetes-event-exporter, kubewatch or botkube')
    .addHelpText('after', IMPORT_HELP)
    .action(async (tool, file = '-') =>
      exit(await (await import('./import.ts')).importConfiguration(tool, file)),
    )

  ofQueue(program.command('status'))
    .description('show watches, sinks and the ledger')
    .option('--json', 'as JSON')
    .option('--verify', 'count what really lies in the lanes instead of trusting the counters')
    .addHelpText('after', STATUS_HELP)
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
  ofQueue(group.command('list'))
    .description('newest first')
    .option('--sink <name>', 'only those of one sink')
    .option('--limit <n>', 'how many', wholeNumber, 50)
    .option('--json', 'as JSON, one a line')
    .action(async (options) => exit(await (await load()).list(options)))
  ofQueue(group.command('show <id>'))
    .description('the reason, the event and the object')
    .option('--json', 'as JSON')
    .action(async (id, options) => exit(await (await load()).show(id, options)))
  ofQueue(group.command('retry [ids...]'))
    .description('put them back into their lanes')
    .option('--all', 'all of them')
    .option('--sink <name>', 'with --all: only those of one sink')
    .action(async (ids, options) => exit(await (await load()).retry(ids, options)))
  ofQueue(group.command('drop <ids...>'))
    .description('delete them for good; the ledger remembers how many')
    .action(async (ids, options) => exit(await (await load()).drop(ids, options)))
}

function common(command: Command): Command {
  return stateful(configurable(command))
}

/** Looks where `run` with the same arguments puts its data. */
function ofQueue(command: Command): Command {
  return common(command)
    .option('--context <name>', 'as given to run; not needed when the configuration has cluster:')
    .option('--demo', 'of the demo that runs')
}

function configurable(command: Command): Command {
  return command.option(
    '-c, --config <file>',
    'default: $KUBEHERALD_CONFIG, else ./kubeherald.yaml; "-" is standard input',
  )
}

function withoutPlugins(command: Command): Command {
  return command.option(
    '--no-plugins',
    'refuse a configuration with plugins:, which are code; also $KUBEHERALD_NO_PLUGINS=1',
  )
}

function stateful(command: Command): Command {
  return command.option(
    '--state-dir <dir>',
    'where the private Redis keeps its data; default: $XDG_STATE_HOME/kubeherald',
  )
}

function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('Give a whole number from 1.')
  return value
}

const SCHEMA_HELP = `
Editors with the YAML language server complete and explain by it, when the first line of a configuration is
# yaml-language-server: $schema=PATH-OR-URL

Examples:
  kubeherald schema > kubeherald.schema.json
  kubeherald schema --included > included.schema.json
`

const STATUS_HELP = `
It reads Redis alone, so that it works while nothing runs. Each change that was observed is counted once: as unmatched, dropped,
matched, or limited (held back, or waiting). Of a rule, matched = sent + digested + waiting + suppressed.

Examples:
  kubeherald status --config prod.yaml
  kubeherald status --json | jq .ledger.rules          how often each rule matched, sent, and was held back
  kubeherald status --verify                           after a doubt: does the ledger agree with what lies in the lanes?
`

const RUN_HELP = `
Without a configuration it prints a selection of events; without redis.url it starts a private redis-server.
Without a configuration and without a kubeconfig (and outside a pod) it starts the demo cluster.

Examples:
  kubeherald                                    look around in the current cluster
  kubeherald run --config prod.yaml             do the job
  kubeherald run --role deliver                 one more process that only delivers (needs redis.url and cluster)
`

const DEMO_HELP = `
It has a Redis of its own, deleted at the end, and reads no configuration but the one of -c; of that it leaves
redis, cluster and kubernetes aside. With --shared-redis it keeps what it has in the Redis of -c instead, under the
cluster name kubeherald-demo: nothing else there is touched.
`

const CHECK_HELP = `
Exit codes: 0 good, perhaps with warnings; 1 with --strict when there are warnings, or when the cluster cannot be asked;
2 when the configuration or an argument is wrong, or the cluster refuses what it needs.

Examples:
  kubeherald check --offline --strict                 in CI
  kubeherald check --json | jq '.problems[]'          for other programs
`

const TAIL_HELP = `
It watches the cluster as "run" would, with the rights of your kubeconfig, and keeps all that it needs in memory: it writes
nothing to Redis and needs none, but for --since. "→" is sent; with --all, "∅" goes nowhere, with the reason.

Examples:
  kubeherald tail --rules new.yaml                     what would these rules send?
  kubeherald tail --all --namespace shop               why does nobody hear of the shop?
  kubeherald tail --sink oncall --since 1h             what the channel got in the last hour, and gets now
  kubeherald tail --for 5m --json | jq .title          for programs
`

const BACKTEST_HELP = `
It reads the journal, which the kubeherald that runs keeps with "journal: { keep: 24h, max: 64MB }" in its configuration.
"+" would be sent now, "-" no longer, "~" reads otherwise. Limits begin anew with the first event of the journal.

Examples:
  kubeherald backtest --rules new.yaml                          the configuration as it is, against another
  kubeherald backtest --rules new.yaml --since 2h --examples 20
  kubeherald backtest --rules new.yaml --fail-on-difference     in CI: a change of form that must change nothing
`

const RBAC_HELP = `
A right is given in a namespace where "watch" lists namespaces by name, else in all of them; of one object where "fields"
names it (metadata.name=...). It reads "watch" and "leases" of the configuration, so it needs no secrets, and asks the
cluster only what a custom kind is that is not written as plural.group. "kubeherald check" tells which rights are missing.

Examples:
  kubeherald rbac                                     look at them
  kubeherald rbac | kubectl apply -f -                give them to the service account kubeherald in kubeherald
  kubeherald rbac --service-account ops/herald        to another one
  kubeherald rbac --format values > rights.yaml       for helm install -f rights.yaml
`

const INIT_HELP = `
It reads which kinds there are, how many nodes, pods and namespaces, and how namespaces are labelled: five small requests.

Examples:
  kubeherald init                       kubeherald.yaml and kubeherald-rbac.yaml, for the current cluster
  kubeherald init --sink slack          to a channel: SLACK_TOKEN holds the token
  kubeherald init --output -            only look at it
`

const IMPORT_HELP = `
Prints it; what could not be carried over stands in comments. A ConfigMap around the file is taken off, and a secret in it
is not written: \${env:NAME} stands for it. Without a file it reads standard input.

Examples:
  kubeherald import kubernetes-event-exporter config.yaml > kubeherald.yaml
  kubectl get configmap event-exporter-cfg -o yaml | kubeherald import kubernetes-event-exporter
  kubeherald import botkube values.yaml > kubeherald.yaml
`

const DEAD_LETTERS_HELP = `
Examples:
  kubeherald dead-letters list --sink oncall
  kubeherald dead-letters show 1763712000000-0
  kubeherald dead-letters retry --all --sink oncall
`
