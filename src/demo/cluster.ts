import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApi } from './api.ts'
import { day, furnish } from './day.ts'
import { RESOURCES } from './resources.ts'
import { createStore } from './store.ts'

export interface DemoCluster extends AsyncDisposable {
  url: string
  /** A kubeconfig file for it. */
  kubeconfig: string
}

const FIRST_PAUSE_MS = 400

/** A small cluster inside this process, with a believable day; the real watch code reads it over HTTP. */
export async function startDemoCluster(parts: {
  random(): number
  clock: { now(): number }
}): Promise<DemoCluster> {
  const now = () => new Date(parts.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')
  const store = createStore({ newUid: randomUUID, now })
  furnish(store)
  const server = createApi(store, RESOURCES)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-demo-'))
  const moments = day(store, { random: parts.random, now })
  let timer = setTimeout(next, FIRST_PAUSE_MS)

  function next(): void {
    const { value } = moments.next()
    value?.act()
    timer = setTimeout(next, value?.afterMs ?? FIRST_PAUSE_MS)
  }

  return {
    url,
    kubeconfig: writeKubeconfig(dir, url),
    async [Symbol.asyncDispose]() {
      clearTimeout(timer)
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

function writeKubeconfig(dir: string, server: string): string {
  const file = join(dir, 'kubeconfig')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'demo',
    contexts: [{ name: 'demo', context: { cluster: 'demo', user: 'demo' } }],
    clusters: [{ name: 'demo', cluster: { server } }],
    users: [{ name: 'demo', user: {} }],
  }
  writeFileSync(file, JSON.stringify(config))
  return file
}
