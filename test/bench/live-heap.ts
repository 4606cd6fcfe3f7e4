import { once } from 'node:events'
import { waitFor } from '../wait-for.ts'

/**
 * Returns the heap of a process of Node in MB that a collection of all garbage leaves. Opens the process's inspector at `port`, which must be its
 * `--inspect-port`; what the inspector needs is resident from then on.
 */
export async function liveHeapMb(pid: number, port: number): Promise<number> {
  process.kill(pid, 'SIGUSR1')
  const target = await waitFor(() => targetAt(port), { what: 'the inspector' })
  const socket = new WebSocket(target)
  await once(socket, 'open')
  let id = 0
  async function call(method: string): Promise<unknown> {
    const own = ++id
    socket.send(JSON.stringify({ id: own, method }))
    for (;;) {
      const [{ data }] = (await once(socket, 'message')) as [{ data: string }]
      const { id: of, result } = JSON.parse(data) as { id?: number; result?: unknown }
      if (of === own) return result
    }
  }
  await call('HeapProfiler.enable')
  await call('HeapProfiler.collectGarbage')
  const { usedSize } = (await call('Runtime.getHeapUsage')) as { usedSize: number }
  socket.close()
  return usedSize / 1e6
}

async function targetAt(port: number): Promise<string | undefined> {
  try {
    const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
      webSocketDebuggerUrl: string
    }[]
    return targets[0]?.webSocketDebuggerUrl
  } catch {
    return undefined
  }
}
