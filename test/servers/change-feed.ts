import type { HistoryEntry } from '../cluster/etcd-history.ts'
import { configMap, type ScriptedApi, startScriptedApi, type WatchConnection } from './scripted-api.ts'

/** A scripted API server that keeps its history: watches that are opened again, by any process, go on from their position. */
export interface ChangeFeed extends AsyncDisposable {
  readonly url: string
  /** The changes so far, in the form in which etcd's history is read. */
  readonly history: HistoryEntry[]
  /** Creates, changes or deletes a ConfigMap; one that is created again gets another uid. Returns its resourceVersion. */
  change(type: HistoryEntry['type'], name: string, data?: Record<string, string>): number
  /** How many watches were opened. */
  watches(): number
}

const START = 10

export async function startChangeFeed(): Promise<ChangeFeed> {
  const api: ScriptedApi = await startScriptedApi()
  const frames: { version: number; type: string; object: Record<string, any> }[] = []
  const open = new Set<WatchConnection>()
  const lives = new Map<string, number>()
  const objects = new Map<string, object>()
  const history: HistoryEntry[] = []
  let version = START
  api.resourceVersion = String(version)
  api.onList = () => ({
    body: { metadata: { resourceVersion: String(version) }, items: [...objects.values()] },
  })

  function goOn(connection: WatchConnection): void {
    const from = Number(connection.request.query.get('resourceVersion'))
    for (const frame of frames) if (frame.version > from) connection.frame(frame.type, frame.object)
    open.add(connection)
    api.script(goOn)
  }
  api.script(goOn)

  return {
    url: api.url,
    history,
    watches: () => open.size,
    change(type, name, data = {}) {
      version++
      if (type === 'ADDED') lives.set(name, (lives.get(name) ?? 0) + 1)
      const object = {
        ...configMap(name, version, { uid: `uid-of-${name}-${lives.get(name)}` }),
        data: { step: String(version), ...data },
      }
      if (type === 'DELETED') objects.delete(name)
      else objects.set(name, object)
      frames.push({ version, type, object })
      history.push({ key: `configmaps/default/${name}`, type, resourceVersion: String(version) })
      api.resourceVersion = String(version)
      for (const connection of open) connection.frame(type, object)
      return version
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  }
}
