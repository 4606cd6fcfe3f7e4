import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { startReceiver } from '../servers/receiver.ts'
import { startRedis } from '../servers/redis.ts'
import { startSlack } from '../servers/slack.ts'
import { waitFor } from '../wait-for.ts'
import { type Kubeherald, startKubeherald } from './kubeherald.ts'
import { repeatUntilStopped } from './steady-load.ts'
import { CONFIG_MAPS } from './workload.ts'

export const ALICE = 'U0000000001'
const PAUSE_MS = 40

/** A write to a ConfigMap of `default`, as etcd stored it. */
export interface Change {
  name: string
  type: 'ADDED' | 'MODIFIED'
  resourceVersion: string
}

/** What a sink got: `MODIFIED web@123`, or `resolved web@123` for a resolve notification. */
export interface Got {
  id: string
  rule: string
  text: string
}

export const textOf = ({ type, name, resourceVersion }: Change) => `${type} ${name}@${resourceVersion}`

/** A real cluster and Redis, webhooks `hook` and `pager`, and two sinks of Slack, with buttons: `oncall` and `managers`. */
export async function startControlBed() {
  await using opening = new AsyncDisposableStack()
  const kubernetes = opening.use(await borrowKubernetes())
  const redis = opening.use(await startRedis())
  const hook = opening.use(await startReceiver())
  const slack = opening.use(await startSlack({ perSecond: 50, burst: 50 }))
  slack.channel('oncall')
  slack.channel('managers')
  const made: Change[] = []
  /** uid → name */
  const names = new Map<string, string>()

  async function change(name: string, labels: Record<string, string> = {}): Promise<Change> {
    const type = [...names.values()].includes(name) ? 'MODIFIED' : 'ADDED'
    const data = { step: String(made.length) }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels }, data }
    const written = (await (type === 'ADDED'
      ? kubernetes.request('POST', CONFIG_MAPS, object)
      : kubernetes.request('PUT', `${CONFIG_MAPS}/${name}`, object))) as {
      metadata: { uid: string; resourceVersion: string }
    }
    names.set(written.metadata.uid, name)
    const it: Change = { name, type, resourceVersion: written.metadata.resourceVersion }
    made.push(it)
    return it
  }

  const config = (rules: string) => `
cluster: test
redis: { url: "${redis.url}" }
journal: { keep: 1h }
watch: [{ kind: ConfigMap, namespaces: default }]
sinks:
  hook: { type: webhook, url: "${hook.url}" }
  pager: { type: webhook, url: "${hook.url}/pager" }
  oncall: ${slackSink('#oncall')}
  managers: ${slackSink('#managers')}
rules: ${rules}`

  function slackSink(channel: string): string {
    const actions = `{ appToken: "${slack.clicks.appToken}", users: [${ALICE}] }`
    const rate = '{ perSecond: 50, burst: 50 }'
    return `{ type: slack, token: "${slack.token}", channel: "${channel}", apiUrl: "${slack.apiUrl}", rate: ${rate}, digest: false, actions: ${actions} }`
  }

  const parsed = new WeakMap<object, any>()
  /** Each body is parsed once, however often a wait looks at all of them. */
  function eventIn(request: { body: string }): any {
    const event = parsed.get(request) ?? JSON.parse(request.body)
    parsed.set(request, event)
    return event
  }

  const stack = opening.move()
  return {
    ...{ kubernetes, redis, hook, slack, made, change, config },
    start: async (rules: string) =>
      stack.use(await startKubeherald({ kubeconfig: kubernetes.kubeconfig, config: config(rules) })),

    /** Changes objects one after the other until it is stopped. */
    keepChanging: (objects: readonly string[]) =>
      repeatUntilStopped(PAUSE_MS, (i) => change(objects[i % objects.length] as string)),

    /** What a webhook accepted, in the order it came, without what was replayed. */
    webhookGot: (path = '/hook'): Got[] =>
      hook.requests
        .filter((it) => it.status === 200 && it.path === path)
        .map(eventIn)
        .filter(({ replayed }) => !replayed)
        .map(({ id, type, name, resourceversion, data }) => ({
          id,
          rule: data.rule,
          text: `${String(type).endsWith('.resolved') ? 'resolved' : data.type} ${name}@${resourceversion}`,
        })),

    /** What Slack posted in a channel, by the ids in the metadata; answers to clicks have none. */
    slackGot: (channel: string): Got[] =>
      slack.calls
        .filter((it) => it.method === 'chat.postMessage' && it.status === 200 && it.error === '')
        .filter(({ args }) => args['channel'] === channel && args['metadata'])
        .map(({ args }) => {
          const { id, rule } = args['metadata'].event_payload
          const [, uid = '', version, type, notice] = String(id).split('/')
          return { id, rule, text: `${notice ?? type} ${names.get(uid)}@${version}` }
        }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** The texts that came before one of an older version of the same object; a repeat counts at its first arrival. */
export function outOfOrder(got: readonly Got[]): string[] {
  const newest = new Map<string, number>()
  const seen = new Set<string>()
  return got.flatMap(({ id, text }) => {
    if (seen.has(id)) return []
    seen.add(id)
    const [, name = '', version] = /(\S+)@(\d+)$/.exec(text) ?? []
    const isLate = Number(version) < (newest.get(name) ?? 0)
    newest.set(name, Number(version))
    return isLate ? [text] : []
  })
}

/** The number of silences that a process applies. */
export async function applies(count: number, processes: readonly Kubeherald[]): Promise<void> {
  const isApplied = async (it: Kubeherald) =>
    new RegExp(`^kubeherald_silences ${count}$`, 'm').test(await it.metrics())
  await waitFor(async () => (await Promise.all(processes.map(isApplied))).every(Boolean), {
    what: `${count} silences in force`,
  })
}

type Replicas = readonly [Kubeherald, Kubeherald]

/**
 * Waits until one of two replicas alone watches, and returns it first. The one that starts last takes the watch over, and the other
 * one notices that with its next commit.
 */
export async function holderAndOther([a, b]: Replicas): Promise<Replicas> {
  return waitFor(
    async () => {
      const { instances } = await a.status()
      const watching = (it: Kubeherald) =>
        instances.find(({ pid }: { pid: number }) => pid === it.pid)?.watches[0]?.phase === 'watching'
      if (watching(a) === watching(b)) return undefined
      return watching(a) ? ([a, b] as const) : ([b, a] as const)
    },
    { what: 'one replica to watch, and the other not' },
  )
}
