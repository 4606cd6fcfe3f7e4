import { request } from 'undici'
import { type ClusterEvent, headerOf } from '../../src/model/event.ts'
import { compileRules } from '../../src/rules/compile.ts'
import { normalise } from '../../src/watch/decode/normalise.ts'
import { readFrame } from '../../src/watch/decode/scan.ts'
import { createLineSplitter } from '../../src/watch/decode/splitters.ts'
import { benchFrames } from './pod.ts'
import { typicalRules } from './typical-rules.ts'

// What the line does with events up to their deliveries, without Redis: reads the stream of a feed as the parse loop does,
// scans, matches rules, and of what matches makes header and body. Without a feed it takes frames from memory, and only
// matches them. Arguments: how many events, how many rules, `few` or `all`, the feed's URL. Prints the
// seconds, and those of the processor.
const [countText = '0', rulesText = '100', matched = 'few', url = ''] = process.argv.slice(2)
const count = Number(countText)
const rules = typicalRules(rulesText === '1000' ? 1_000 : 100, matched === 'all' ? 'all' : 'few')
const onError = (rule: string, error: unknown): never => {
  throw new Error(`rule ${rule} failed`, { cause: error })
}
const match = compileRules(rules, { onError })
const resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
const source = { clusterUid: 'bench', resource } as Parameters<typeof normalise>[0]
const context = { cluster: 'bench', salt: Buffer.alloc(32) }

function eventOf(line: Buffer): ClusterEvent {
  const frame = readFrame(line)
  if (frame.kind !== 'change') throw new Error(`not a change: ${line.toString('utf8', 0, 200)}`)
  const { object, type } = frame
  const { uid, resourceVersion, namespace, name, labelsJson } = object
  const observedAtMs = Date.now()
  return normalise(
    source,
    { type, uid, resourceVersion, namespace, name, labelsJson, observedAtMs, synthesized: false, object },
    context,
  )
}

let seen = 0
let sent = 0
let bytes = 0

function take(event: ClusterEvent): void {
  seen++
  const { sends } = match(event)
  if (sends.length === 0) return
  sent++
  bytes += JSON.stringify(headerOf(event)).length + event.objectJson.length
}

async function fromFeed(): Promise<void> {
  const { body } = await request(`${url}/api/v1/pods?watch=true&resourceVersion=1000000`)
  const splitter = createLineSplitter()
  for await (const chunk of body as AsyncIterable<Buffer>) {
    splitter.push(chunk, (line) => take(eventOf(line)))
    if (seen >= count) break
  }
}

/** Frames are scanned before: what the rules cost, and nothing else. */
function fromMemory(): void {
  for (const event of events) take(event)
}

const lines = benchFrames(500).map(([head, middle, tail]) =>
  Buffer.from(`${head}1${middle}0${tail}`.trimEnd()),
)
const events = url ? [] : Array.from({ length: count }, (_, i) => eventOf(lines[i % lines.length] as Buffer))
const startedMs = performance.now()
const startedCpu = process.cpuUsage()
await (url ? fromFeed() : fromMemory())
const { user, system } = process.cpuUsage(startedCpu)
const seconds = (performance.now() - startedMs) / 1_000
const share = sent / seen
if (matched === 'all' ? share !== 1 : Math.abs(share - 0.01) > 0.001)
  throw new Error(`${share} of all matched`)
console.log(JSON.stringify({ seconds, cpu: (user + system) / 1e6, bytes }))
process.exit(0)
