// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the configuration
import { When } from '../../rules/when.ts'
import { writtenAs } from '../../sink/duration.ts'
import type { Path } from '../document.ts'

type Aliases = Readonly<Record<string, string>>

/** Returns an alias table of `key: 'alias alias'`. */
function aliases(lists: Readonly<Record<string, string>>): Aliases {
  return Object.fromEntries(
    Object.entries(lists).flatMap(([key, list]) => list.split(' ').map((it) => [it, key])),
  )
}

/** Options of the built-in sinks that a rule may set, under the name of the sink. */
const OPTIONS = 'channel mode groupBy mention topic key state format'

/**
 * Keys of other tools (Alertmanager, Botkube, kubernetes-event-exporter, Argo Events) and keys in the wrong place, by the map
 * that they are in, with our key. Plural forms and other spellings are found as the closest match.
 */
const ALIASES: Readonly<Record<string, Aliases>> = {
  root: aliases({
    watch: 'resources kinds sources eventSources event_sources informers',
    sinks: 'receivers outputs destinations notifiers communications executors services',
    rules: 'route routes filters triggers subscriptions bindings alerts',
    vars: 'variables',
    cluster: 'clusterName cluster_name',
    'notify: { heartbeat }': 'heartbeat',
  }),
  watch: aliases({
    kind: 'resource',
    labels: 'labelSelector selector',
    fields: 'fieldSelector',
    namespaces: 'namespaceSelector ns',
  }),
  sink: aliases({
    url: 'webhook webhookUrl webhook_url hosts host endpoint address uri',
    host: 'server smtp smtpHost smtp_host smarthost',
    brokers: 'bootstrapServers bootstrap_servers',
    chatId: 'chat chat_id',
    topicId: 'thread threadId thread_id message_thread_id messageThreadId topic_id',
  }),
  include: aliases({ from: 'file files path paths glob set source name' }),
  redis: aliases({
    url: 'uri address addr',
    'part of the url: redis://HOST:PORT/DB': 'host hostname port db database',
  }),
  rule: {
    ...aliases({
      when: 'match matches matchers filter filters conditions selector events',
      to: 'sink sinks send sendTo receiver receivers outputs destinations',
      if: 'cel expr expression script',
      debounce: 'debounceTime settle',
      throttle: 'rateLimit rate_limit cooldown dedup',
      mute: 'silence mute_time_intervals active_time_intervals',
      resolve: 'resolved sendResolved send_resolved',
      message: 'template text',
      'group: { by }': 'group_by',
      'group: { wait }': 'group_wait groupWait',
      'group: { interval }': 'group_interval groupInterval',
      'throttle: { every }': 'repeat_interval repeatInterval',
      'after: { count }': 'minCount threshold',
      'continue, with the opposite value': 'stop final last break terminal halt',
    }),
    ...aliases({ 'under the name of the sink: to: [{ SINK: { … } }]': OPTIONS }),
  },
  when: aliases({
    regarding: 'involvedObject about',
    namespace: 'ns namespaces',
    kind: 'kinds',
    name: 'names',
    labels: 'labelSelector',
    type: 'eventType types',
    reason: 'reasons',
    namespaceLabels: 'namespaceSelector',
    owner: 'ownerReferences controller',
    'if: event.manager …, next to "when"': 'manager user',
    'if: object.… == …, next to "when"': 'uid node phase replicas status spec data',
  }),
  condition: aliases({ becomes: 'status to value is', type: 'name', from: 'was', for: 'duration' }),
  throttle: aliases({ per: 'by', every: 'interval window within period in for', burst: 'limit max count' }),
  debounce: aliases({ per: 'by', quiet: 'wait for time window', atMost: 'max maxWait atLeast within' }),
  after: aliases({ per: 'by', within: 'in window every interval period', count: 'times min threshold' }),
  group: aliases({ by: 'per key keys', wait: 'delay', interval: 'every window', max: 'limit size' }),
  mute: aliases({
    timezone: 'tz timeZone zone location',
    from: 'start after',
    to: 'end until before',
    days: 'day weekdays',
    dates: 'date holidays',
  }),
  resolve: aliases({ per: 'by', after: 'within for every' }),
}

/** Returns our key for an unknown key at a path, perhaps with the map that it belongs to; undefined if there is none. */
export function aliasOf(path: Path): string | undefined {
  const key = String(path.at(-1))
  const map = mapAt(path)
  if (map === undefined) return undefined
  const table = ALIASES[map]
  if (table && Object.hasOwn(table, key)) return table[key]
  if (map === 'rule' && Object.hasOwn(When.shape, key)) return `when: { ${key} }`
  const field = map === 'when' ? /^(status|spec|data)(\.\w+)+/.exec(key)?.[0] : undefined
  if (field !== undefined) return `if: object.${field} == …, next to "when"`
  // The caller knows whether rules have such a key.
  if (map === 'when' && /^[\w-]+$/.test(key)) return `${key}, next to "when"`
  if (map === 'regarding' && Object.hasOwn(When.shape, key)) return `${key}, next to "regarding"`
  return undefined
}

/** The map that holds a key: `rule`, or the key of a rule that it is under. */
function mapAt(path: Path): string | undefined {
  const [root] = path
  const names = path.filter((step) => typeof step === 'string')
  if (names.length === 1) return 'root'
  if (names.length === 3 && root === 'sinks') return 'sink'
  if (names.length === 2 && (root === 'watch' || root === 'include' || root === 'redis')) return root
  if (root !== 'rules' && root !== 'defaults' && root !== 'include') return undefined
  // What is below `to` has the names of sinks.
  if (names[1] === 'to') return undefined
  return names.length === 2 ? 'rule' : names.length < 5 ? names.at(-2) : undefined
}

type ValueAlias = (text: string) => string | undefined

/** A duration in place of a map: `resolve: 30m`. */
const spanOf =
  (key: string, inner: string): ValueAlias =>
  (text) => {
    const span = writtenAs(text, 1, Number.MAX_SAFE_INTEGER)
    return span && `${key}: { ${inner}: ${span} }`
  }

const ifTemplate =
  (ours: (text: string) => string): ValueAlias =>
  (text) =>
    /\{[{%]/.test(text) ? ours(text) : undefined

/** Values of other tools, by the map and the key that they are in, with what to write instead. */
const VALUES: readonly (readonly [map: string, key: RegExp, ours: ValueAlias])[] = [
  ['rule', /^resolve$/, spanOf('resolve', 'after')],
  ['rule', /^throttle$/, spanOf('throttle', 'every')],
  ['rule', /^debounce$/, spanOf('debounce', 'quiet')],
  ['rule', /^severity$/, ifTemplate((text) => `message: { severity: ${JSON.stringify(text)} }`)],
  [
    'sink',
    /^(token|secret|password|apiKey|routingKey|signingSecret)$/,
    ifTemplate(() => '"${env:NAME}" or "${file:PATH}": no template is filled in here'),
  ],
]

/** Returns a hint for a text that a key does not take; undefined if there is none. */
export function valueAlias(path: Path, text: string): string | undefined {
  const map = mapAt(path)
  const ours = VALUES.find((it) => it[0] === map && it[1].test(String(path.at(-1))))?.[2](text)
  return ours && `write ${ours}`
}

const TOOLS: Readonly<Record<string, readonly string[]>> = {
  'kubernetes-event-exporter': ['route', 'receivers'],
  kubewatch: ['handler', 'resource'],
  Botkube: ['sources', 'communications'],
}

/** Returns a hint for a file that is not a configuration of kubeherald, by its top-level keys; undefined for others. */
export function otherFileHint(keys: ReadonlySet<string>): string | undefined {
  const [tool] = Object.entries(TOOLS).find(([, own]) => own.every((key) => keys.has(key))) ?? []
  if (tool) return `it looks like a configuration of ${tool}, which "kubeherald import" converts`
  if (keys.has('config') && !keys.has('watch') && !keys.has('rules'))
    return 'it looks like values of the chart: a configuration is what is under "config"'
  return undefined
}
