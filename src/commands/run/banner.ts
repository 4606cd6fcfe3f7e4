import type { App } from '../../app.ts'
import { addressOf } from '../../queue/redis-target.ts'
import { version } from '../../version.ts'
import type { ClusterAccess } from '../../watch/kubeconfig.ts'
import { invocation } from '../invocation.ts'
import type { RunOptions } from './run-options.ts'
import type { ChosenRedis } from './run-redis.ts'

export interface Begun {
  file: string | undefined
  /** Why there is a demo, if there is one. */
  demo: 'asked for' | 'no cluster' | undefined
  /** Keys of the file that a demo leaves aside. */
  unused: readonly string[]
  /** Undefined for a process that only delivers. */
  access: ClusterAccess | undefined
  redis: ChosenRedis
  app: App
  options: RunOptions
}

/** At most six lines: what was found, what was started instead, and how to point it at the real thing. */
export function describeStart(begun: Begun): string {
  const { access, redis, app, options, demo } = begun
  const real = access
    ? `${access.context} at ${access.server} (${access.origin})`
    : `not needed for --role ${options.role}`
  const store = redis.dir
    ? `${app.redisVersion}, private, in ${redis.dir}${demo ? '; deleted at the end' : ' (redis.url in the configuration shares one)'}`
    : `${app.redisVersion} at ${addressOf(redis.target)}${demo ? '; what the demo keeps there is deleted at the end' : ''}`
  const http = `${app.url ? `${app.url}/readyz and /metrics` : 'off'}; "${statusCommand(begun)}" shows more; Ctrl-C stops`
  const lines = [
    `  config   ${configLine(begun)}`,
    `  cluster  ${demo ? DEMO[demo] : real}`,
    `  redis    ${store}`,
    `  http     ${http}`,
  ]
  return `kubeherald ${version}\n${lines.join('\n')}\n`
}

const DEMO = {
  'asked for': 'a demo cluster inside this process, as asked for',
  'no cluster': 'none found, so a demo cluster inside this process (set KUBECONFIG, or run in a pod)',
}

function configLine({ file, demo, unused }: Begun): string {
  if (file !== undefined)
    return unused.length === 0 ? file : `${file} (a demo does not use its ${unused.join(', ')})`
  return demo === 'asked for'
    ? 'a starter that prints a selection of events (-c FILE tries your own rules)'
    : 'none found, so a starter that prints a selection of events (write kubeherald.yaml, or --config FILE)'
}

/** The same arguments lead to the same Redis and cluster name. */
function statusCommand({ demo, options }: Begun): string {
  const { config, context, stateDir } = options
  const words = [
    invocation(process.env),
    'status',
    ...(demo && !options.sharedRedis ? ['--demo'] : config ? ['--config', config] : []),
    ...(context ? ['--context', context] : []),
    ...(stateDir ? ['--state-dir', stateDir] : []),
  ]
  return words
    .map((word) => (/\s/.test(word) && !word.endsWith(' --') ? JSON.stringify(word) : word))
    .join(' ')
}
