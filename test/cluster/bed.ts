import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { type Arrival, arrivalsAt, differences } from './compare.ts'
import { currentRevision, etcdHistory, type HistoryEntry } from './etcd-history.ts'
import { type Kubeherald, startKubeherald } from './kubeherald.ts'
import { WIDGET_CRD, WIDGETS } from './workload.ts'

export interface Bed extends AsyncDisposable {
  kubernetes: Kubernetes
  redis: RedisServer
  hook: Receiver
  kubeherald: Kubeherald
  /** What the receiver took: requests that it answered with 200. */
  arrivals(): Arrival[]
  /** What etcd says happened to the watched objects since kubeherald was ready. */
  history(): Promise<HistoryEntry[]>
  /** Waits until nothing that happened is missing at the receiver; gives the history. */
  allArrived(timeoutMs?: number): Promise<HistoryEntry[]>
}

export interface BedOptions {
  watch?: string
  sinks?: (hook: Receiver) => string
  rules?: string
  crd?: boolean
  prefixes?: readonly string[]
  redisArgs?: string[]
  /** `redis:` of the configuration, where it is not the bed's own. */
  redis?: string
  args?: string[]
  /** A cluster that is there already, and outlives the bed. */
  kubernetes?: Kubernetes
  /** More flags for kube-apiserver, which is then one of its own. */
  flags?: readonly string[]
  /** A kubeconfig other than the administrator's own. */
  kubeconfig?(kubernetes: Kubernetes): string | Promise<string>
}

/** A real cluster, a real Redis, a receiver and a kubeherald that sends what happens to ConfigMaps in `default`. */
export async function startBed(options: BedOptions = {}): Promise<Bed> {
  // Ends what was started when the rest is refused.
  await using opening = new AsyncDisposableStack()
  const kubernetes =
    options.kubernetes ?? opening.use(await borrowKubernetes(options.flags && { flags: options.flags }))
  const redis = opening.use(await startRedis(options.redisArgs ? { args: options.redisArgs } : {}))
  const hook = opening.use(await startReceiver())
  if (options.crd) await installWidgets(kubernetes)
  const kubeherald = opening.use(
    await startKubeherald({
      kubeconfig: (await options.kubeconfig?.(kubernetes)) ?? kubernetes.kubeconfig,
      args: options.args ?? [],
      config: `
cluster: test
redis: ${options.redis ?? `{ url: "${redis.url}" }`}
watch: ${options.watch ?? '[{ kind: ConfigMap, namespaces: default }]'}
sinks: ${options.sinks?.(hook) ?? `{ hook: { type: webhook, url: "${hook.url}" } }`}
rules: ${options.rules ?? '[{ name: all, when: { namespace: default }, to: [hook] }]'}`,
    }),
  )
  const since = (await currentRevision(kubernetes.etcdUrl)) + 1
  const arrivals = () => arrivalsAt(hook)
  const history = async () =>
    (await etcdHistory(kubernetes.etcdUrl, options.prefixes ?? ['configmaps'], since)).filter(
      ({ key }) => key.includes('/default/') && !key.endsWith('kube-root-ca.crt'),
    )
  async function allArrived(timeoutMs = 60_000): Promise<HistoryEntry[]> {
    const happened = await history()
    const missing = () => differences(happened, arrivals()).missing
    await waitFor(() => hook.requests.length >= happened.length && missing().length === 0, {
      timeoutMs,
      what: () =>
        `${happened.length} changes to arrive; missing ${missing().length}: ${missing().slice(0, 5).join(', ')}`,
    })
    return happened
  }
  const stack = opening.move()
  return {
    kubernetes,
    redis,
    hook,
    kubeherald,
    arrivals,
    history,
    allArrived,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** Installs the custom resource and waits until it is served. */
export async function installWidgets(kubernetes: Pick<Kubernetes, 'request'>): Promise<void> {
  await kubernetes.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', WIDGET_CRD)
  await waitFor(
    () =>
      kubernetes.request('GET', WIDGETS).then(
        () => true,
        () => false,
      ),
    { what: 'widgets to be served' },
  )
}
