import { type Command, Option } from 'commander'
import { CONTEXT, configurable, type Exit, stateful, withoutPlugins } from './options.ts'

export function describeRun(program: Command, exit: Exit): void {
  withoutPlugins(stateful(configurable(program.command('run'))))
    .description('watch the cluster, apply the rules, deliver; also without the word run')
    .option(...CONTEXT)
    .addOption(
      new Option('--role <role>', 'only read the cluster, only deliver, or both')
        .choices(['all', 'watch', 'deliver'])
        .default('all'),
    )
    .option('--log-level <level>', 'trace, debug, info, warn, error or fatal')
    .addHelpText('after', RUN_HELP)
    .action(async (options) => exit(await (await import('../run/run.ts')).run(options)))

  withoutPlugins(stateful(program.command('demo')))
    .description('watch a small cluster inside this process, to try kubeherald without a cluster')
    .option('-c, --config <file>', 'rules to try; default: a starter that prints a selection of events')
    .option('--shared-redis', 'use redis.url of that file; what is stored there is deleted at the end')
    .option('--log-level <level>', 'trace, debug, info, warn, error or fatal')
    .addHelpText('after', DEMO_HELP)
    .action(async (options) =>
      exit(await (await import('../run/run.ts')).run({ ...options, role: 'all', demo: true })),
    )
}

const RUN_HELP = `
Without a configuration it prints a selection of events; without redis.url it starts a private redis-server.
Without a configuration and without a kubeconfig (and outside a pod) it starts the demo cluster on a terminal, and fails elsewhere.
With --quiet it logs warnings and errors alone, unless --log-level asks for more.

Examples:
  kubeherald                                    prints a selection of events of the current cluster
  kubeherald run --config prod.yaml             forwards by the rules of a configuration
  kubeherald run --role deliver                 one more process that only delivers (needs redis.url and cluster)
`

const DEMO_HELP = `
It has a Redis of its own, deleted at the end, and reads no configuration but the one of -c; of that it leaves
redis, cluster and kubernetes aside. With --shared-redis it keeps what it has in the Redis of -c instead, under the
cluster name kubeherald-demo: nothing else there is touched.
`
