import type { Command } from 'commander'
import { configurable, type Exit, withoutPlugins } from '../options.ts'

/** The commands that show what a configuration does, and send nothing. */
export function describeProof(program: Command, exit: Exit): void {
  withoutPlugins(configurable(program.command('explain <what>')))
    .description(
      'say what each rule makes of an object and why, and what each sink would be sent; sends nothing',
    )
    .option(
      '--type <type>',
      'ADDED, MODIFIED or DELETED; default: what the input says, else MODIFIED with --old, else ADDED',
    )
    .option('--old <file>', 'the object before the change')
    .option('--at <time>', 'when it happens; default: what the input says, else now')
    .option('--rule <name>', 'this rule alone')
    .option('--sink <name>', 'what this sink is sent, in full')
    .option('--all', 'also rules for other kinds; each object of a long list')
    .option('--json', 'as JSON')
    .option('--context <name>', 'context of the kubeconfig, for objects of the cluster')
    .addHelpText('after', EXPLAIN_HELP)
    .action(async (what, options) => exit(await (await import('./explain.ts')).explain(what, options)))

  withoutPlugins(configurable(program.command('test [files...]')))
    .description('run the tests of the configuration, without cluster, Redis and secrets; sends nothing')
    .option('--filter <text>', 'only tests with this in their names')
    .option('--coverage', 'list rules that match in no test')
    .option('--junit <file>', 'write the results as JUnit XML, too')
    .option('--json', 'as JSON')
    .addHelpText('after', TEST_HELP)
    .action(async (files, options) => exit(await (await import('./test.ts')).test(files, options)))
}

const EXPLAIN_HELP = `
<what> is a file, "-" for the standard input, or an object of the cluster: kind/namespace/name, or kind/name. A file is YAML
or JSON: an object, several, a List, a frame of a watch, a CloudEvent or a dead letter of kubeherald. What an API server
would fill in may be left out.

Examples:
  kubeherald explain backoff.yaml                                  would anybody be told, and why not?
  kubeherald explain pod/shop/web-1 --rule crash-loops             an object as it is now
  kubeherald explain new.yaml --old old.yaml --sink oncall         a change, and what exactly the sink is sent
  kubectl get events -A -o json | kubeherald explain -             a line for each: where it would go
  kubeherald dead-letters show ID --json | kubeherald explain -    what was given up
`

const TEST_HELP = `
Without files it runs those under "tests" of the configuration, and those of the files *_test.yaml beside it; of a
folder it runs all *_test.yaml in it. A test gives an object, or several with times, and says what must come of it:

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
