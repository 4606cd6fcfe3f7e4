import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startKubeherald } from '../cluster/kubeherald.ts'
import { type Answer, type ReceivedRequest, startReceiver } from '../servers/receiver.ts'
import { configMap, startScriptedApi } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { kubeconfigFor } from '../watch/bed.ts'

export interface LineOptions {
  /** `redis:` of the configuration. */
  redis: string
  /** The cluster's name; default `test`. */
  cluster?: string
  /** What its API server says of it. */
  uid?: string
  /** Of requests to the receiver. */
  answer?: (request: ReceivedRequest) => Answer
  /** More keys of the rule, as YAML: `throttle: { per: namespace, every: 1h }`. */
  limit?: string
  /** Where the API server stands at the start. */
  resourceVersion?: string
}

/** The whole line in a process of its own: a scripted API server, some Redis, a webhook and a chat. */
export async function startLine(options: LineOptions) {
  await using stack = new AsyncDisposableStack()
  const api = stack.use(await startScriptedApi())
  api.clusterUid = options.uid ?? 'cluster-uid'
  api.resourceVersion = options.resourceVersion ?? '10'
  const hook = stack.use(await startReceiver())
  if (options.answer) hook.answer(options.answer)
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-line-'))
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const kubeconfig = join(dir, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigFor(api.url))
  const kubeherald = stack.use(
    await startKubeherald({
      kubeconfig,
      config: `
cluster: ${options.cluster ?? 'test'}
redis: ${options.redis}
watch: [ConfigMap]
sinks:
  hook: { type: webhook, url: "${hook.url}/hook" }
  chat: { type: webhook, preset: mattermost, url: "${hook.url}/chat" }
rules: [{ name: all, to: [hook, chat]${options.limit === undefined ? '' : `, ${options.limit}`} }]`,
    }),
  )
  await waitFor(() => api.current() !== undefined, { what: 'the watch' })
  const took = (path: string) =>
    hook.requests.filter((it) => it.status === 200 && it.path.endsWith(path)).map(({ body }) => body)
  const moved = stack.move()
  return {
    api,
    hook,
    kubeherald,
    /** Tells a change of a ConfigMap. */
    frame(type: 'ADDED' | 'MODIFIED' | 'DELETED', name: string, version: number, extra: object = {}): void {
      api.current()?.frame(type, { ...configMap(name, version), data: { step: String(version) }, ...extra })
    },
    /** `MODIFIED a@12`, in the order in which the webhook took them. */
    told: () =>
      took('/hook').map((body) => {
        const event = JSON.parse(body)
        return `${event.data.type} ${event.subject.split('/').at(-1)}@${event.resourceversion}`
      }),
    /** What the chat took. */
    chatted: () => took('/chat'),
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  }
}
