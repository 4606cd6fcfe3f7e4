import { parentPort } from 'node:worker_threads'
import { checkedValueOf } from '../../config/checked-value.ts'
import type { SinkType } from '../../sink/index.ts'
import { allSinks } from '../../sink-types.ts'
import { FileReads } from './file-reads.ts'
import { tryRead } from './read-configuration.ts'
import { MORE, type ReadRequest, type WorkerRead } from './reread.ts'

/** Rules per message: receiving all of them together would block the main thread. */
const CHUNK = 100

/** The rules of the last configuration that the main thread has not requested yet. */
let unsent: readonly unknown[] = []

/** Answers the main thread: a request to read, or one for the next rules. */
export function answerRequests(): void {
  parentPort?.on('message', async (message: ReadRequest | typeof MORE) => {
    if (message !== MORE) return parentPort?.postMessage(await readAndCheck(message))
    parentPort?.postMessage(unsent.slice(0, CHUNK))
    unsent = unsent.slice(CHUNK)
  })
}

async function readAndCheck({ source, colour, pluginTypes: names }: ReadRequest): Promise<WorkerRead> {
  const reads = new FileReads()
  const pluginTypes = Object.fromEntries(names.map((type) => [type, uncheckedType(type)]))
  const read = await tryRead(source, reads, { sinkTypes: allSinks, pluginTypes }, colour)
  if (!read.ok) return { ...read, reads: reads.toData() }
  const { digest, shownWarnings, loaded } = read
  const { rules, ...value } = checkedValueOf(loaded.document)
  unsent = rules
  const { warnings } = loaded
  return {
    ok: true,
    reads: reads.toData(),
    digest,
    warnings,
    shownWarnings,
    ...value,
    ruleCount: rules.length,
  }
}

/** Accepts all options of a plug-in: its schema cannot leave the thread that loaded it. */
function uncheckedType(type: string): SinkType {
  const validate = (value: unknown) => ({ value })
  const anything = { '~standard': { version: 1, vendor: 'kubeherald', validate } } as const
  return {
    apiVersion: 1,
    type,
    config: anything,
    route: anything,
    open() {
      throw new Error(`${type} is only checked here`)
    },
  }
}
