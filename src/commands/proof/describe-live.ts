import type { Command } from 'commander'
import { configurable, type Exit, ofQueue, stateful, wholeNumber, withoutPlugins } from '../options.ts'

/** The same of what happens in the cluster, or happened there: tail and backtest. */
export function describeLiveProof(program: Command, exit: Exit): void {
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
}

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
