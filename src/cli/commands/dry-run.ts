import type { Command } from 'commander'
import {
  CONTEXT,
  configurable,
  type Exit,
  ofQueue,
  printsData,
  stateful,
  wholeNumber,
  withoutPlugins,
} from './options.ts'

export function describeDryRun(program: Command, exit: Exit): void {
  printsData(withoutPlugins(configurable(program.command('explain <what>'))))
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
    .option('--context <name>', 'context of the kubeconfig, for objects of the cluster')
    .addHelpText('after', EXPLAIN_HELP)
    .action(async (what, options) =>
      exit(await (await import('../dry-run/explain.ts')).explain(what, options)),
    )

  printsData(withoutPlugins(configurable(program.command('test [files...]'))))
    .description('run the tests of the configuration, without cluster, Redis and secrets; sends nothing')
    .option('--filter <text>', 'only tests with this in their names')
    .option('--coverage', 'list rules that match in no test')
    .option('--junit <file>', 'write the results as JUnit XML, too')
    .addHelpText('after', TEST_HELP)
    .action(async (files, options) => exit(await (await import('../dry-run/test.ts')).test(files, options)))

  describeLive(program, exit)

  printsData(withoutPlugins(configurable(program.command('send-test <sink>'))))
    .description('send one marked test message to a sink, and show its answer')
    .option('--rule <name>', 'as this rule renders it; default: the first rule that sends to the sink')
    .option('--context <name>', "context of the kubeconfig, for the cluster's name in the message")
    .addHelpText('after', SEND_TEST_HELP)
    .action(async (sink, options) =>
      exit(await (await import('../send-test/send-test.ts')).sendTest(sink, options)),
    )
}

const EXPLAIN_HELP = `
<what> is a file, "-" for the standard input, or an object of the cluster: kind/namespace/name, or kind/name. A file is YAML
or JSON: an object, several, a List, a frame of a watch, a CloudEvent or a dead letter of kubeherald. What an API server
would fill in may be left out. Of the URL of a webhook it shows the path where that is written into the configuration and
cannot be a secret.

Examples:
  kubeherald explain backoff.yaml                                  would it be sent, and why not?
  kubeherald explain pod/shop/web-1 --rule crash-loops             an object as it is now
  kubeherald explain new.yaml --old old.yaml --sink oncall         a change, and what exactly the sink is sent
  kubectl get events -A -o json | kubeherald explain -             a line for each: where it would go
  kubeherald dead-letters show ID -o json | kubeherald explain -   what was given up
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

const SEND_TEST_HELP = `
It opens the sink with its secrets and sends one message about an object that does not exist, kubeherald-test. The title
begins with "TEST:". Limits do not apply, Redis and the cluster are not asked. A pager opens an incident: resolve it there.
Exit codes: 0 the sink accepted it; 1 it did not, with its reason; 2 for a mistake in the configuration or arguments.

Examples:
  kubeherald send-test oncall                          is the token good, may it write into the channel?
  kubeherald send-test oncall --rule crash-loops       as that rule renders its messages
`

function describeLive(program: Command, exit: Exit): void {
  printsData(withoutPlugins(stateful(configurable(program.command('tail')))))
    .description('show what would go where, as it happens in the cluster; sends nothing')
    .option('--rules <file>', 'the rules to try; default: those of --config')
    .option('--all', 'also what no rule sends, and what limits suppress')
    .option('--rule <name>', 'what this rule sends')
    .option('--sink <name>', 'what this sink would get')
    .option('--kind <kind>', 'of this kind: Pod, deploy, databases.stable.example.com')
    .option('--namespace <pattern>', 'of this namespace: shop, pay-*, !kube-*')
    .option('--since <time>', 'first what was since then, of the journal: 30m, 24h')
    .option('--for <time>', 'end after watching for this time: 30s, 5m')
    .option('--until <expression>', 'end with the first event for which this CEL expression is true')
    .option('--idle <time>', 'end when no event has come for this time: 30s, 5m')
    .option(...CONTEXT)
    .addHelpText('after', TAIL_HELP)
    .action(async (options) => exit(await (await import('../dry-run/tail.ts')).tail(options)))

  printsData(withoutPlugins(ofQueue(program.command('why <object>'))))
    .description('show why an event reached a sink, or did not')
    .option('--sink <name>', 'at this sink')
    .option('--rule <name>', 'by this rule')
    .addHelpText('after', WHY_HELP)
    .action(async (object, options) => exit(await (await import('../dry-run/why.ts')).why(object, options)))

  printsData(withoutPlugins(ofQueue(program.command('backtest'))))
    .description('compare what other rules would have sent for the events of the journal')
    .requiredOption('--rules <file>', 'the configuration to try')
    .option('--since <time>', 'of what happened since then: 30m, 24h; default: of all in the journal')
    .option('--examples <n>', 'of each sink and rule; default: 5', wholeNumber)
    .option('--fail-on-difference', 'exit code 1 when anything differs, or that is uncertain')
    .addHelpText('after', BACKTEST_HELP)
    .action(async (options) => exit(await (await import('../dry-run/backtest.ts')).backtest(options)))
}

const TAIL_HELP = `
It watches the cluster as "run" would, with the permissions of your kubeconfig, and keeps all that it needs in memory: it writes
nothing to Redis and needs none, but for --since. "→" is sent; with --all, "∅" goes nowhere, with the reason.

--until takes an expression as "if" of a rule does, over object, oldObject, event, cluster and now. It sees each watched event
that passes --kind and --namespace, sent or not. Exit code 0 when one fulfils it; 1 when tail ends before, by --for, --idle
or a signal. --idle counts the same events, from the start of all watches.

Examples:
  kubeherald tail --rules new.yaml                     what would these rules send?
  kubeherald tail --all --namespace shop               why is nothing sent for the shop?
  kubeherald tail --sink oncall --since 1h             what the channel got in the last hour, and gets now
  kubeherald tail --for 5m -o json | jq .title         for programs
  kubeherald tail --kind deploy --until 'object.status.?readyReplicas.orValue(0) == 3' --for 2m    in a pipeline
`

const WHY_HELP = `
OBJECT is kind/namespace/name or kind/name, which asks for the newest event of that object, the uid of an object, or the id of an
event. It shows what the history has (delivered, attempts, suppressed by which limit), what waits in the lanes, and dead letters.
With a journal it shows the result of each rule of the configuration, with the reasons, as "explain" does.

Examples:
  kubeherald why pod/shop/web-1                        who was notified, and who was not
  kubeherald why pod/shop/web-1 --sink oncall          why did this not reach on-call?
`

const BACKTEST_HELP = `
It reads the journal, which the kubeherald that runs keeps with "journal: { keep: 24h, max: 64MB }" in its configuration.
"+" would be sent now, "-" no longer, "~" reads otherwise. Limits start empty with the first event of the journal. Each configuration
gets the events that its "watch" selects; what only the new "watch" would read is not in the journal.

Examples:
  kubeherald backtest --rules new.yaml                          the configuration as it is, against another
  kubeherald backtest --rules new.yaml --since 2h --examples 20
  kubeherald backtest --rules new.yaml --fail-on-difference     in CI: a change of form that must change nothing
`
