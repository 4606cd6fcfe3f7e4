import { type Command, InvalidArgumentError, Option } from 'commander'
import { builtInSinks, DEFAULT_SINK } from '../sink-types.ts'

/** Receives the exit code of a command. */
export type Exit = (code: number) => void

/** Adds all commands in the order of `--help`. Each loads its code when it runs. */
export function describeCommands(program: Command, exit: Exit): void {
  describeRun(program, exit)
  describeCheck(program, exit)
  describeDryRun(program, exit)
  describeSchema(program, exit)
  describeLiveDryRun(program, exit)
  describeRbac(program, exit)
  describeInit(program, exit)
  describeQueue(program, exit)
}

function describeRun(program: Command, exit: Exit): void {
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
    .action(async (options) => exit(await (await import('./run/run.ts')).run(options)))

  withoutPlugins(stateful(program.command('demo')))
    .description('watch a small cluster inside this process, to try kubeherald without a cluster')
    .option('-c, --config <file>', 'rules to try; default: a starter that prints a selection of events')
    .option('--shared-redis', 'use redis.url of that file; what is stored there is deleted at the end')
    .option('--log-level <level>', 'trace, debug, info, warn, error or fatal')
    .addHelpText('after', DEMO_HELP)
    .action(async (options) =>
      exit(await (await import('./run/run.ts')).run({ ...options, role: 'all', demo: true })),
    )
}

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

function describeCheck(program: Command, exit: Exit): void {
  withoutPlugins(configurable(program.command('check')))
    .description(
      'report all problems of the configuration, the watches it would start, and missing permissions',
    )
    .option('--context <name>', 'context of the kubeconfig')
    .option('--offline', 'ask neither cluster, Redis nor sinks, and do without secrets that are not here')
    .option('--strict', 'warnings are failures: exit code 1')
    .option('--json', 'as JSON: problems with their places, and what would be watched')
    .addHelpText('after', CHECK_HELP)
    .action(async (options) => exit(await (await import('./check/check.ts')).check(options)))
}

const CHECK_HELP = `
Exit codes: 0 good, perhaps with warnings; 1 with --strict when there are warnings, or when the cluster cannot be asked;
2 when the configuration or an argument is wrong, or the cluster refuses what it needs.

Examples:
  kubeherald check --offline --strict                 in CI
  kubeherald check --json | jq '.problems[]'          for other programs
`

function describeDryRun(program: Command, exit: Exit): void {
  withoutPlugins(configurable(program.command('explain <what>')))
    .description(
      'explain the result of each rule for an object, and what each sink would be sent; sends nothing',
    )
    .option(
      '--type <type>',
      'ADDED, MODIFIED or DELETED; default: from the input, else MODIFIED with --old, else ADDED',
    )
    .option('--old <file>', 'the object before the change')
    .option('--at <time>', 'time of the change; default: from the input, else now')
    .option('--rule <name>', 'this rule alone')
    .option('--sink <name>', 'what this sink is sent, in full')
    .option('--all', 'also rules for other kinds; each object of a long list')
    .option('--json', 'as JSON')
    .option('--context <name>', 'context of the kubeconfig, for objects of the cluster')
    .addHelpText('after', EXPLAIN_HELP)
    .action(async (what, options) =>
      exit(await (await import('./dry-run/explain.ts')).explain(what, options)),
    )

  withoutPlugins(configurable(program.command('test [files...]')))
    .description('run the tests of the configuration, without cluster, Redis and secrets; sends nothing')
    .option('--filter <text>', 'only tests with this in their names')
    .option('--coverage', 'list rules that match in no test')
    .option('--junit <file>', 'write the results as JUnit XML, too')
    .option('--json', 'as JSON')
    .addHelpText('after', TEST_HELP)
    .action(async (files, options) => exit(await (await import('./dry-run/test.ts')).test(files, options)))
}

const EXPLAIN_HELP = `
<what> is a file, "-" for the standard input, or an object of the cluster: kind/namespace/name, or kind/name. A file is YAML
or JSON: an object, several, a List, a frame of a watch, a CloudEvent or a dead letter of kubeherald. What an API server
would fill in may be left out.

Examples:
  kubeherald explain backoff.yaml                                  would it be sent, and why not?
  kubeherald explain pod/shop/web-1 --rule crash-loops             an object as it is now
  kubeherald explain new.yaml --old old.yaml --sink oncall         a change, and what exactly the sink is sent
  kubectl get events -A -o json | kubeherald explain -             a line for each: where it would go
  kubeherald dead-letters show ID --json | kubeherald explain -    what was given up
`

const TEST_HELP = `
Without files it runs those under "tests" of the configuration, and those of the files *_test.yaml next to it; of a
folder it runs all *_test.yaml in it. A test has an object, or several with times, and the expected results:

  tests:
    - name: a back-off in shop reaches on-call, and the next one within ten minutes does not
      given:
        - { kind: Event, type: Warning, reason: BackOff, regarding: { kind: Pod, namespace: shop, name: web-1 } }
        - { at: 5m, kind: Event, type: Warning, reason: BackOff, regarding: { kind: Pod, namespace: shop, name: web-1 } }
      expect:
        - { rule: crash-loops, to: oncall, text: "*crash-looping*" }
        - { none: true, suppressed: throttle }

"given" is an object, a file with one, or { object, old, type, at, times, every, namespaceLabels, synthesized }; "surroundings"
are objects known besides, such as Namespaces and owners. "expect" has rule, to, text, severity, suppressed, dropped, none,
notices, messages; in a list, each is about what came since the one before. Exit code 0: all pass; 1: one fails; 2: bad file.

Examples:
  kubeherald test                                      all of them
  kubeherald test --filter back-off --coverage         some; and which rules no test shows
  kubeherald test --junit results.xml                  in CI
`

function describeSchema(program: Command, exit: Exit): void {
  program
    .command('schema')
    .description('print the JSON Schema of the configuration, for editors')
    .option('--included', 'of files that a configuration includes')
    .addHelpText('after', SCHEMA_HELP)
    .action(async (options) => exit(await (await import('./schema.ts')).printSchema(options)))
}

const SCHEMA_HELP = `
Editors with the YAML language server complete and explain by it, when the first line of a configuration is
# yaml-language-server: $schema=PATH-OR-URL

Examples:
  kubeherald schema > kubeherald.schema.json
  kubeherald schema --included > included.schema.json
`

function describeLiveDryRun(program: Command, exit: Exit): void {
  withoutPlugins(stateful(configurable(program.command('tail'))))
    .description('show what would go where, as it happens in the cluster; sends nothing')
    .option('--rules <file>', 'the rules to try; default: those of --config')
    .option('--all', 'also what no rule sends, and what limits hold back')
    .option('--rule <name>', 'what this rule sends')
    .option('--sink <name>', 'what this sink would get')
    .option('--kind <kind>', 'of this kind: Pod, deploy, databases.stable.example.com')
    .option('--namespace <pattern>', 'of this namespace: shop, pay-*, !kube-*')
    .option('--since <time>', 'first what was since then, of the journal: 30m, 24h')
    .option('--for <time>', 'end by itself when it has watched so long: 30s, 5m')
    .option('--json', 'a line of JSON for each')
    .option('--context <name>', 'context of the kubeconfig')
    .addHelpText('after', TAIL_HELP)
    .action(async (options) => exit(await (await import('./dry-run/tail.ts')).tail(options)))

  withoutPlugins(ofQueue(program.command('backtest')))
    .description('compare what other rules would have sent for the events of the journal')
    .requiredOption('--rules <file>', 'the configuration to try')
    .option('--since <time>', 'of what happened since then: 30m, 24h; default: of all in the journal')
    .option('--examples <n>', 'of each sink and rule; default: 5', wholeNumber)
    .option('--fail-on-difference', 'exit code 1 when anything differs')
    .option('--json', 'as JSON')
    .addHelpText('after', BACKTEST_HELP)
    .action(async (options) => exit(await (await import('./dry-run/backtest.ts')).backtest(options)))
}

const TAIL_HELP = `
It watches the cluster as "run" would, with the permissions of your kubeconfig, and keeps all that it needs in memory: it writes
nothing to Redis and needs none, but for --since. "→" is sent; with --all, "∅" goes nowhere, with the reason.

Examples:
  kubeherald tail --rules new.yaml                     what would these rules send?
  kubeherald tail --all --namespace shop               why does nobody hear of the shop?
  kubeherald tail --sink oncall --since 1h             what the channel got in the last hour, and gets now
  kubeherald tail --for 5m --json | jq .title          for programs
`

const BACKTEST_HELP = `
It reads the journal, which the kubeherald that runs keeps with "journal: { keep: 24h, max: 64MB }" in its configuration.
"+" would be sent now, "-" no longer, "~" reads otherwise. Limits start empty with the first event of the journal.

Examples:
  kubeherald backtest --rules new.yaml                          the configuration as it is, against another
  kubeherald backtest --rules new.yaml --since 2h --examples 20
  kubeherald backtest --rules new.yaml --fail-on-difference     in CI: a change of form that must change nothing
`

function describeRbac(program: Command, exit: Exit): void {
  configurable(program.command('rbac'))
    .description('print the permissions in Kubernetes that the configuration needs, and no others')
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
    .action(async (options) => exit(await (await import('./rbac/rbac.ts')).rbac(options)))
}

const RBAC_HELP = `
A permission is granted in a namespace where "watch" lists namespaces by name, else in all of them; of one object where "fields"
names it (metadata.name=...). It reads "watch" and "leases" of the configuration, so it needs no secrets, and asks the
cluster only what a custom kind is that is not written as plural.group. "kubeherald check" lists missing permissions.

Examples:
  kubeherald rbac                                     look at them
  kubeherald rbac | kubectl apply -f -                give them to the service account kubeherald in kubeherald
  kubeherald rbac --service-account ops/herald        to another one
  kubeherald rbac --format values > permissions.yaml       for helm install -f permissions.yaml
`

function describeInit(program: Command, exit: Exit): void {
  program
    .command('init')
    .description('write a configuration for the cluster to begin with, and the permissions that it needs')
    .option('-o, --output <file>', 'where to; "-" prints it', 'kubeherald.yaml')
    .addOption(
      new Option('--sink <type>', 'where it sends to')
        .choices(Object.keys(builtInSinks))
        .default(DEFAULT_SINK),
    )
    .option('--force', 'write over files that are there')
    .option('--context <name>', 'context of the kubeconfig')
    .option('--offline', 'without a cluster')
    .addHelpText('after', INIT_HELP)
    .action(async (options) => exit(await (await import('./init/init.ts')).init(options)))

  program
    .command('import <tool> [file]')
    .description('make a configuration of one of kubernetes-event-exporter, kubewatch or botkube')
    .addHelpText('after', IMPORT_HELP)
    .action(async (tool, file = '-') =>
      exit(await (await import('./import/import.ts')).importConfiguration(tool, file)),
    )
}

const INIT_HELP = `
It reads which kinds there are, how many nodes, pods and namespaces, and how namespaces are labelled: five small requests.

Examples:
  kubeherald init                       kubeherald.yaml and kubeherald-rbac.yaml, for the current cluster
  kubeherald init --sink slack          to a channel: SLACK_TOKEN holds the token
  kubeherald init --output -            only look at it
`

const IMPORT_HELP = `
Prints it; what could not be carried over is in comments. A ConfigMap around the file is removed, and \${env:NAME}
replaces a secret in it. Without a file it reads standard input.

Examples:
  kubeherald import kubernetes-event-exporter config.yaml > kubeherald.yaml
  kubectl get configmap event-exporter-cfg -o yaml | kubeherald import kubernetes-event-exporter
  kubeherald import botkube values.yaml > kubeherald.yaml
  npm start --silent -- import botkube values.yaml > kubeherald.yaml    in a clone: without --silent npm writes two lines, too
`

function describeQueue(program: Command, exit: Exit): void {
  ofQueue(program.command('status'))
    .description('show watches, sinks and the ledger')
    .option('--json', 'as JSON')
    .option('--verify', 'count the entries in the lanes instead of trusting the counters')
    .addHelpText('after', STATUS_HELP)
    .action(async (options) => exit(await (await import('./queue/status.ts')).status(options)))
  describeDeadLetters(program, exit)
}

function describeDeadLetters(program: Command, exit: Exit): void {
  const group = program
    .command('dead-letters')
    .description('list, show, retry or drop deliveries that were given up')
    .addHelpText('after', DEAD_LETTERS_HELP)
  const load = () => import('./queue/dead-letters.ts')
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
  ofQueue(group.command('drop [ids...]'))
    .description('delete them for good; the ledger remembers how many')
    .option('--all', 'all of them')
    .option('--sink <name>', 'with --all: only those of one sink')
    .action(async (ids, options) => exit(await (await load()).drop(ids, options)))
}

const STATUS_HELP = `
It reads Redis alone, so that it works while nothing runs. Each change that was observed is counted once: as unmatched, dropped,
matched, or limited (held back, or waiting). Of a rule, matched = sent + digested + waiting + suppressed.

Examples:
  kubeherald status --config prod.yaml
  kubeherald status --json | jq .ledger.rules          how often each rule matched, sent, and was held back
  kubeherald status --verify                           does the ledger agree with the entries in the lanes?
`

const DEAD_LETTERS_HELP = `
Examples:
  kubeherald dead-letters list --sink oncall
  kubeherald dead-letters show 1763712000000-0
  kubeherald dead-letters retry --all --sink oncall
`

function common(command: Command): Command {
  return stateful(configurable(command))
}

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

/** From 1. */
function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('Give a whole number from 1.')
  return value
}
