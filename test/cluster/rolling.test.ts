import { expect, test } from 'vitest'
import { startTcpProxy } from '../servers/tcp-proxy.ts'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'
import { differences, exactly } from './compare.ts'
import { CONFIG_MAPS, churn } from './workload.ts'

test('case 14: API servers behind one address are replaced one after the other under writes, and exactly everything arrives', async () => {
  await using balancer = await startTcpProxy(0)
  await using bed = await startBed({
    kubeconfig(kubernetes) {
      balancer.retarget(Number(new URL(kubernetes.url).port))
      return kubernetes.kubeconfigAt(`https://127.0.0.1:${balancer.port}`)
    },
  })
  const { kubernetes, hook } = bed
  const successors = [await kubernetes.addApiServer(), await kubernetes.addApiServer()]
  let writer = kubernetes.request
  let loading = true
  /** Writes that a server has not answered. */
  const open = new Set<Promise<unknown>>()
  const request = (...call: Parameters<typeof writer>) => {
    const write = writer(...call).finally(() => open.delete(write))
    open.add(write)
    return write
  }
  const load = (async () => {
    for (let i = 0; loading; i++)
      await churn({ request }, [CONFIG_MAPS], { count: 20, parallel: 4, pauseMs: 20, prefix: `load-${i}` })
  })()
  let failure: unknown
  load.catch((error) => {
    failure = error
  })
  const flows = () => {
    const before = hook.requests.length
    return waitFor(() => hook.requests.length > before + 20, { what: 'changes to arrive' })
  }
  let end: (signal: NodeJS.Signals) => Promise<void> = () => kubernetes.stopApiServer()
  for (const next of successors) {
    await flows()
    balancer.retarget(next.port)
    writer = kubernetes.requestAt(`https://127.0.0.1:${next.port}`)
    // A server that ends may cut what it has not answered.
    await Promise.allSettled(open)
    await end('SIGTERM')
    end = next.end
    expect(failure).toBeUndefined()
  }
  await flows()
  loading = false
  await load
  const history = await bed.allArrived()
  expect(differences(history, bed.arrivals())).toEqual(exactly())
  expect((await bed.kubeherald.status()).ledger.balanced).toBe(true)
})
